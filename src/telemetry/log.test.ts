import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LogFields } from '../core/ports/telemetry.ts';
import { createLog } from './log.ts';
import { redact, redactText } from './redact.ts';
import { cpuTimeMs } from '../../test/support/cpu-time.ts';

function bench(level: 'debug' | 'info' | 'warn' = 'debug') {
  const lines: string[] = [];
  return { lines, log: createLog({ level, destination: { write: (line) => void lines.push(line) } }) };
}

test('one line of JSON an event, from the level on', () => {
  const { lines, log } = bench('info');
  log.debug('hidden');
  log.info('two\nlines', { model: 'm', tokens: 5, promptTokens: 7, at: null });
  log.warn('plain');
  assert.equal(lines.length, 2);
  assert.ok(lines.every((line) => line.indexOf('\n') === line.length - 1));
  const { time, ...first } = JSON.parse(lines[0] ?? '') as Record<string, unknown>;
  assert.match(String(time), /^\d{4}-\d\d-\d\dT/);
  assert.deepEqual(first, { level: 'info', model: 'm', tokens: 5, promptTokens: 7, at: null, msg: 'two\nlines' });
});

const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJjYW5hcnkifQ.c2lnbmF0dXJlY2FuYXJ5';
const CANARIES: Readonly<Record<string, string>> = {
  jwt: JWT,
  bearer: `Bearer canary-opaque-token-1`,
  provider: 'sk-canary0123456789',
  cloud: 'AKIACANARY0123456789',
  assignment: 'password=canary-hunter2',
  query: 'https://x.example/?api_key=canary-in-query&a=1',
  userinfo: 'redis://canary:canary-pass@db.example:6379/0',
  header: 'cookie: canary-session',
  json: '{"token":"canary-json"}',
};
const KEYS = [
  'authorization',
  'Proxy-Authorization',
  'Cookie',
  'set-cookie',
  'x-api-key',
  'apiKey',
  'token',
  'access_token',
  'clientSecret',
  'password',
  'messages',
  'prompt',
  'content',
  'arguments',
  'input',
  'email',
  'private_key',
];

test('no canary gets through: by key at any depth, by its look in any text', () => {
  const { lines, log } = bench();
  for (const text of Object.values(CANARIES)) {
    log.error(`failed with ${text}`, { a: { b: [{ reason: `said ${text}` }] } });
    log.error('failed', { error: new Error(text, { cause: new Error(text) }) });
    log.error('failed', { [text]: 'as a key' });
  }
  for (const key of KEYS) log.debug('x', { [key]: 'canary', deep: { list: [{ [key]: { any: ['canary'] } }] } });
  assert.equal(lines.length, Object.keys(CANARIES).length * 3 + KEYS.length);
  for (const line of lines) assert.ok(!/canary|eyJ/i.test(line), line);
});

test('sizes are bounded', () => {
  const { lines, log } = bench();
  const deep: Record<string, unknown> = {};
  let at = deep;
  for (let i = 0; i < 100; i++) at = at['next'] = {} as Record<string, unknown>;
  log.info('x'.repeat(1_000_000), {
    long: 'y'.repeat(1_000_000),
    list: Array.from({ length: 10_000 }, (_, i) => i),
    keys: Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`k${i}`, i])),
    deep,
    buffer: Buffer.alloc(1_000_000),
  } as unknown as LogFields);
  assert.ok((lines[0]?.length ?? Infinity) < 10_000, String(lines[0]?.length));
});

test('nothing that is logged can throw', () => {
  const { lines, log } = bench();
  const cyclic: Record<string, unknown> = { big: 10n ** 30n, fn: () => {}, symbol: Symbol('s') };
  cyclic['self'] = cyclic;
  const trap = {
    get boom(): never {
      throw new Error('boom');
    },
    toJSON(): never {
      throw new Error('boom');
    },
  };
  const proxy = new Proxy(
    {},
    {
      ownKeys: () => {
        throw new Error('boom');
      },
    },
  );
  for (const value of [
    cyclic,
    trap,
    proxy,
    null,
    undefined,
    Symbol('x'),
    new Date(NaN),
    new Map(),
    Object.create(null),
  ]) {
    log.error('odd', { value });
  }
  log.error(undefined as unknown as string, null as unknown as LogFields);
  assert.deepEqual((redact(cyclic) as Record<string, unknown>)['self'], '[circular]');
  assert.deepEqual((redact(trap) as Record<string, unknown>)['boom'], '[unreadable]');
  assert.ok(lines.length >= 8);
  const broken = createLog({
    level: 'debug',
    destination: {
      write: () => {
        throw new Error('disk full');
      },
    },
  });
  broken.error('lost');
});

test('redacting text is linear', () => {
  for (const text of [
    'a:'.repeat(1000),
    '://'.repeat(600),
    'bearer '.repeat(290),
    'token='.repeat(340),
    'eyJ'.repeat(680),
  ]) {
    const from = cpuTimeMs();
    for (let i = 0; i < 20; i++) redactText(text);
    assert.ok(cpuTimeMs() - from < 400, text.slice(0, 10));
  }
});
