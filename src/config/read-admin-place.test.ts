import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { readAdminPlace } from './read-admin-place.ts';

const dir = mkdtempSync(join(tmpdir(), 'tokenlat-place-'));
after(() => rmSync(dir, { recursive: true, force: true }));
const file = join(dir, 'tokenlat.yaml');

function placeOf(text: string, env: Record<string, string> = {}) {
  writeFileSync(file, text);
  const result = readAdminPlace(file, env);
  return result.ok ? result.place : result.problems.map(({ line, path, message }) => `${line} ${path} ${message}`);
}

const REST = 'version: 1\nauth: {api_keys: [{key: "${env:NONE}"}]}\n';

test('references outside of the address are not looked at', () => {
  const tokens = 'tokens: [{name: me, role: admin, token: "${env:NONE}"}]';
  assert.deepEqual(placeOf(`${REST}admin: {${tokens}}\n`), { address: '127.0.0.1', port: 9903, tls: null });
  const own = 'admin: {address: "${env:HOST}", port: "${env:PORT:-9904}", tls: {cert: a, key: "${file:none}"}}';
  assert.deepEqual(placeOf(REST + own, { HOST: '10.0.0.1' }), {
    address: '10.0.0.1',
    port: 9904,
    tls: Object.assign(Object.create(null), { cert: 'a', key: '${file:none}' }),
  });
  assert.equal(placeOf(REST), null);
  assert.equal(placeOf(''), null);
});

test('what is wrong with the address is told at its place', () => {
  assert.match(
    JSON.stringify(placeOf(`${REST}admin: {address: "\${env:HOST}"}`)),
    /^\["3 admin\.address needs .*HOST, which is not/,
  );
  assert.deepEqual(placeOf(`${REST}admin: {port: 70000}`), ['3 admin.port must be a port']);
  assert.deepEqual(placeOf(`${REST}admin: {port: "9903"}`), ['3 admin.port must be a port']);
  assert.deepEqual(placeOf(`${REST}admin: {address: 7}`), ['3 admin.address must be a text']);
  assert.deepEqual(placeOf(`${REST}admin: 7`), ['3 admin must be a map']);
  assert.match(JSON.stringify(placeOf('a: [')), /is not valid YAML/);
  assert.equal(readAdminPlace(join(dir, 'none.yaml')).ok, false);
});
