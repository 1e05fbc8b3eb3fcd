import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../core/error.ts';
import type { Log, LogFields } from '../core/ports/telemetry.ts';
import { configOf, contextOf } from './flow-kit.test.ts';
import { createServices } from './services.ts';
import type { GrowingContext } from './walk.ts';

const audit: (readonly [string, LogFields | undefined])[] = [];
const log: Log = { debug() {}, info() {}, error() {}, warn: (message, fields) => audit.push([message, fields]) };
const services = createServices({ allowed: (_principal, name) => !name.startsWith('hidden'), log });
const model = (name: string, stage: string) => [name, { name, stage }] as const;
const config = configOf({
  models: new Map([model('z', 'full'), model('g', 'gray'), model('old', 'retired'), model('hidden-1', 'full')]),
  aliases: new Map([['alias', 'z']]),
  routes: [{ models: ['auto', 'gpt-*', '*', 'z'] }, { models: ['hidden-2'] }],
});
const ctx = contextOf({ config }) as GrowingContext;
const ask = (target: Parameters<typeof services>[1], asking = ctx) => services(asking, target);
const json = (body: Uint8Array) => JSON.parse(Buffer.from(body).toString()) as Record<string, unknown>;
const refused = (code: string) => (error: unknown) => error instanceof GatewayError && error.code === code;

test('the list holds each name once that the caller may ask for, and no pattern', () => {
  const { status, headers, body } = ask({ kind: 'list-models' });
  assert.equal(status, 200);
  assert.deepEqual(headers, [['content-type', 'application/json']]);
  const { object, data } = json(body);
  assert.equal(object, 'list');
  assert.deepEqual(
    data,
    ['alias', 'auto', 'g', 'z'].map((id) => ({ id, object: 'model', created: 0, owned_by: 'tokenlat' })),
  );
});

test('one model is shown by the same rule', () => {
  assert.deepEqual(json(ask({ kind: 'show-model', model: 'auto' }).body)['id'], 'auto');
  for (const name of ['old', 'hidden-1', 'gpt-*', 'gpt-4', '', '__proto__', 'ali']) {
    assert.throws(() => ask({ kind: 'show-model', model: name }), refused('model_not_found'), name);
  }
});

test('a model that is hidden is refused in the words for one that is not there', () => {
  const words = (name: string) => {
    try {
      return ask({ kind: 'show-model', model: name });
    } catch (error) {
      return JSON.stringify(error).replaceAll(name, 'NAME');
    }
  };
  assert.equal(words('hidden-1'), words('nowhere'));
});

test('a disabled endpoint is refused and written down, bounded', () => {
  audit.length = 0;
  assert.throws(
    () => ask({ kind: 'disabled', path: `/v1/fine_tuning/${'x'.repeat(9000)}` }),
    refused('endpoint_disabled'),
  );
  const [message, fields] = audit[0] ?? [];
  assert.equal(message, 'audit: refused endpoint');
  assert.equal(fields?.['tenant'], 'acme');
  assert.equal(fields?.['path'], `/v1/fine_tuning/${'x'.repeat(9000)}`.slice(0, 256));
});

test('nobody is answered without a principal', () => {
  const stranger = { ...ctx };
  delete stranger.principal;
  for (const target of [
    { kind: 'list-models' },
    { kind: 'show-model', model: 'z' },
    { kind: 'disabled', path: '/' },
  ] as const) {
    assert.throws(() => ask(target, stranger), refused('missing_credentials'));
  }
});
