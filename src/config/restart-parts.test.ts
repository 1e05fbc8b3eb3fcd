import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from './load-config.ts';
import { restartParts } from './restart-parts.ts';

const TOKEN = '0123456789abcdef0123456789abcdef';
const OTHER = 'fedcba9876543210fedcba9876543210';

function snapshot(more: string) {
  const result = loadConfig({
    path: '/nowhere/tokenlat.yaml',
    text: `version: 1
auth: {api_keys: [{name: k, key: "0123456789abcdef", tenant: t}]}
backends: [{name: a, endpoints: [{url: "http://10.0.0.1:8000"}]}]
models: [{name: m, deployments: [{backend: a}]}]
${more}`,
    generation: 1,
    dialects: ['openai'],
    checkMatch: () => null,
  });
  assert.ok(result.ok, JSON.stringify(result.ok ? '' : result.problems));
  return result.snapshot;
}

const admin = (more: string, token = TOKEN): string =>
  `admin: {${more}tokens: [{name: a, role: admin, token: "${token}"}]}`;
const redis = 'redis: {url: "redis://127.0.0.1"}';
const audit = 'audit: {dir: a, key_file: k.pem, checkpoint: {dir: c}}';

for (const [before, after, parts] of [
  ['', '', []],
  [
    `${redis}\n${audit}\n${admin('')}\nserver: {workers: 2}`,
    `${redis}\n${audit}\n${admin('')}\nserver: {workers: 2}\nretry: {retries: 1}`,
    [],
  ],
  ['', 'listen: {port: 10001}', []],
  ['', 'listen: {admin_port: 9999}', ['listen.admin_port']],
  ['', 'server: {ops: {port: 9100}}', ['server']],
  ['', 'server: {workers: 2}', ['server']],
  ['', redis, ['redis']],
  ['', audit, ['audit']],
  ['', 'telemetry: {log_level: debug}', ['telemetry']],
  ['', 'ledger: {keep: 10d, max_events: 5000}', ['ledger.keep', 'ledger.max_events']],
  ['', 'ledger: {on_state_lost: deny}', []],
  ['', admin(''), ['admin']],
  [admin(''), '', ['admin']],
  [admin(''), admin('', OTHER), []],
  [admin(''), admin('port: 9999, '), ['admin.port']],
  [admin(''), admin('address: "::1", '), ['admin.address']],
  [admin(''), `${admin('')}\n${redis}\nserver: {workers: 2}`, ['server', 'redis']],
] as const)
  test(`from ${before || 'nothing'} to ${after || 'nothing'}: ${parts.join(', ') || 'no restart'}`, () =>
    assert.deepEqual(restartParts(snapshot(before), snapshot(after)), parts));
