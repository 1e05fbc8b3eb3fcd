import assert from 'node:assert/strict';
import { once } from 'node:events';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { selfSigned } from '../../../test/render/self-signed.ts';
import { entriesOf, ledgerEvent } from '../cost-kit.test.ts';
import { type FakeClickHouse, startFakeClickHouse } from './clickhouse-kit.test.ts';
import { createClickHouseSink, type ClickHouseSinkOptions } from './clickhouse-sink.ts';
import { SinkError } from './ledger-sink.ts';

const LOGIN = { user: 'tokenlat', password: 'pass word' };
const never = new AbortController().signal;
let fake: FakeClickHouse;
before(async () => {
  fake = await startFakeClickHouse(LOGIN);
});
after(() => fake.close());
beforeEach(() => {
  fake.forget();
  fake.faults.length = 0;
});

const sinkOf = (over: Partial<ClickHouseSinkOptions> = {}) =>
  createClickHouseSink({ url: fake.url, ...LOGIN, ...over });
const failure = (passing: boolean, message: RegExp) => (reason: unknown) => {
  assert.ok(reason instanceof SinkError, String(reason));
  assert.match(reason.message, message);
  assert.equal(reason.passing, passing);
  assert.doesNotMatch(reason.message, /pass word/);
  return true;
};

test('every column of an entry reaches the table, with its type', async () => {
  const sink = sinkOf();
  await sink.prepare(never);
  await sink.prepare(never);
  const odd = ledgerEvent({
    subject: 'a\nb"c\ud800',
    usageFlag: 'flag',
    cost: Number.MAX_SAFE_INTEGER,
    audioPromptTokens: 3,
  });
  await sink.write(entriesOf([ledgerEvent(), odd]), never);
  const [first, second] = fake.rows('tokenlat_ledger');
  assert.equal(first?.['time'], '2026-06-01 12:00:00.000');
  assert.equal(first?.['usage_flag'], null);
  assert.equal(first?.['cache_write_tokens'], 0);
  assert.equal(second?.['subject'], 'a\nb"c\ufffd');
  assert.equal(second?.['cost_micro'], Number.MAX_SAFE_INTEGER);
  assert.equal(second?.['audio_prompt_tokens'], 3);
});

test('what is sent twice counts once, and a reversal beside what it takes back', async () => {
  const sink = sinkOf({ table: 't', engine: 'ReplicatedReplacingMergeTree', ttlDays: 30 });
  await sink.prepare(never);
  const expiry = ledgerEvent({ attempt: 0, estimated: true, cost: 9 });
  const reversal = ledgerEvent({
    attempt: 0,
    estimated: true,
    promptTokens: -100,
    completionTokens: -10,
    cost: -9,
  });
  const answer = ledgerEvent({ attempt: 0, promptTokens: 0, completionTokens: 0, cost: 0 });
  const all = entriesOf([
    expiry,
    reversal,
    answer,
    ledgerEvent({ attempt: 1, chargedTo: 'gateway' }),
    ledgerEvent({ attempt: 2 }),
  ]);
  await sink.write(all, never);
  await sink.write(all.slice(2), never);
  await sink.write(all, never);
  assert.equal(fake.rows('t').length, 13);
  assert.deepEqual(
    fake.final('t').map((row) => [row['attempt'], row['kind'], row['cost_micro']]),
    [
      [0, 'expiry', 9],
      [0, 'reversal', -9],
      [0, 'event', 0],
      [1, 'event', 1000],
      [2, 'event', 1000],
    ],
  );
});

test('nothing but an empty 200 is taken for done', async () => {
  const sink = sinkOf({ timeoutMs: 300 });
  await sink.prepare(never);
  const [entry] = [entriesOf([ledgerEvent()])];
  const faults: [(typeof fake.faults)[number], RegExp][] = [
    ['unavailable', /answered 503: upstream is away/],
    ['late-exception', /answered 200, code 241: .*Memory limit/],
    ['reset', /could not be asked/],
    ['applied', /could not be asked/],
    ['hang', /could not be asked.*[Tt]imeout/],
  ];
  for (const [fault, message] of faults) {
    fake.faults.push(fault);
    await assert.rejects(sink.write(entry, never), failure(true, message), fault);
  }
  assert.equal(fake.rows('tokenlat_ledger').length, 1);
  await sink.write(entry, never);
  assert.equal(fake.final('tokenlat_ledger').length, 1);
});

test('what only a person can mend is told apart', async () => {
  const sink = sinkOf({ createTable: false });
  await sink.prepare(never);
  assert.deepEqual(fake.statements, []);
  await assert.rejects(
    sink.write(entriesOf([ledgerEvent()]), never),
    failure(false, /answered 404, code 60: .*does not exist/),
  );
  const stranger = sinkOf({ password: 'pass word 2' });
  await assert.rejects(stranger.prepare(never), failure(false, /answered 403, code 516/));
  const nobody = createClickHouseSink({ url: 'http://127.0.0.1:1' });
  await assert.rejects(nobody.prepare(never), failure(true, /could not be asked/));
});

test('a server is known by its certificate, and by the authority that is named', async () => {
  const { cert, key } = selfSigned('localhost');
  const server = https.createServer({ cert, key }, (request, response) => {
    request.resume().on('end', () => response.end());
  });
  server.listen(0, 'localhost');
  await once(server, 'listening');
  const url = `https://localhost:${(server.address() as AddressInfo).port}`;
  try {
    await sinkOf({ url, ca: cert }).prepare(never);
    await assert.rejects(sinkOf({ url }).prepare(never), failure(true, /certificate/));
    await assert.rejects(
      sinkOf({ url, ca: selfSigned('localhost').cert }).prepare(never),
      failure(true, /certificate/),
    );
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

test('metadata services are not asked', async () => {
  const sink = sinkOf({ url: 'http://169.254.169.254/' });
  await assert.rejects(sink.prepare(never), failure(true, /link-local address or a metadata service/));
});

test('options that cannot be are refused', () => {
  for (const url of ['', 'x', 'file:///x', 'http://u:p@h/', 'http://u@h/'])
    assert.throws(() => sinkOf({ url }), RangeError, url);
  for (const table of ['', 'a b', 'a`b', '1a', 'a.b', 'x'.repeat(65)])
    assert.throws(() => sinkOf({ table }), RangeError, table);
  for (const ttlDays of [0, -1, 1.5, Number.NaN, 3651]) assert.throws(() => sinkOf({ ttlDays }), RangeError);
  assert.throws(() => sinkOf({ database: 'x;' }), RangeError);
});
