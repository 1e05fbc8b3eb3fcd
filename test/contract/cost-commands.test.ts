/** `tokenlat cost verify|export|reconcile` over a Redis that a gateway has booked into. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { Redis } from 'ioredis';
import { runCommand } from '../../src/cli/cli-kit.test.ts';
import { costCommand } from '../../src/cli/commands/cost.ts';
import { UserError } from '../../src/cli/user-error.ts';
import { microUnits } from '../../src/core/money.ts';
import { startRedis } from '../support/redis-server.ts';
import { event, operation } from './quota-harness.ts';
import { openStores } from './redis-harness.ts';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'tl-cost-'));
after(() => fs.rmSync(dir, { recursive: true }));
const server = await startRedis();
after(() => server.stop());

const config = path.join(dir, 'tokenlat.yaml');
fs.writeFileSync(
  config,
  `version: 1
redis: {url: "${server.url}"}
auth:
  issuers: [{issuer: "https://dev.test", algorithms: [HS256], secret: "a-shared-secret-of-some-length-0123456789"}]
backends: [{name: b, endpoints: [{url: "http://10.0.0.1:8000/v1"}]}, {name: c, endpoints: [{url: "http://10.0.0.1:8001/v1"}]}]
models: [{name: m, deployments: [{backend: b}]}]
ledger: {sink: {kind: clickhouse, url: "http://127.0.0.1:1", table: t}}
`,
);

const now = Date.now();
const day = new Date(now).toISOString().slice(0, 10);
const stores = await openStores(server.url);
for (const [tenant, backend, subject] of [
  ['acme', 'b', '=ann'],
  ['globex', 'b', 'bob'],
  ['globex', 'c', 'bob'],
] as const) {
  const id = operation();
  const booked = event(id, 100, { tenant, backend, subject, time: now, cost: microUnits(250_000) });
  await stores.quota.settle({ operation: id, tenant, actual: { requests: 1, tokens: 100 }, events: [booked] });
}
await stores.close();

/** Runs with the configuration; what the command says of its exit code is taken away from this process. */
async function run(...words: readonly string[]) {
  const result = await runCommand(costCommand, [...words, '--config', config], { time: () => now + 1000 });
  const exit = process.exitCode ?? 0;
  process.exitCode = 0;
  return { ...result, exit };
}

test('sums that are right are told, and one that was tampered with is found', async () => {
  const right = await run('verify', 'acme');
  assert.deepEqual([right.error, right.exit, right.out], [null, 0, '1 tenant: every sum is that of its events\n']);
  const raw = new Redis(server.url);
  const key = (await raw.keys('*acme*:s:h:*'))[0] ?? '';
  const [row = ''] = await raw.hkeys(key);
  const was = (await raw.hget(key, row)) ?? '';
  await raw.hset(key, row, was.replace(/\d+$/, '9'));
  try {
    const wrong = await run('verify', 'acme');
    assert.equal(wrong.exit, 1);
    assert.match(wrong.out, /^acme .* USD differs: cost 0\.000009 is 0\.250000 by events$/m);
    assert.equal((await run('verify', 'acme', '--json')).json()['consistent'], false);
  } finally {
    await raw.hset(key, row, was);
    raw.disconnect();
  }
});

test('an export is a file that is there whole, for its owner alone', async () => {
  const file = path.join(dir, 'ledger.csv');
  const { error } = await run('export', '--output', file);
  assert.equal(error, null);
  const [head, ...rows] = fs.readFileSync(file, 'utf8').trimEnd().split('\r\n');
  assert.match(head ?? '', /^id,kind,time,tenant,/);
  assert.equal(rows.length, 3);
  assert.ok(rows.some((row) => row.includes(",'=ann,")));
  assert.equal(fs.statSync(file).mode & 0o777, 0o600);
  await run('export', '--output', file, '--tenant', 'globex', '--format', 'jsonl');
  assert.equal(fs.readFileSync(file, 'utf8').trimEnd().split('\n').length, 2);
  await run('export', '--output', file, '--to', '2026-01-01');
  assert.equal(fs.readFileSync(file, 'utf8').trimEnd().split('\r\n').length, 1);
  assert.deepEqual(fs.readdirSync(dir).toSorted(), ['ledger.csv', 'tokenlat.yaml']);
  const nowhere = await run('export', '--output', path.join(dir, 'no', 'x.csv'));
  assert.match(nowhere.error?.message ?? '', /^cannot write .*x\.csv \(ENOENT\)$/);
  const screen = await runCommand(costCommand, ['export', '--format', 'parquet', '-c', config], { screen: true });
  assert.ok(screen.error instanceof UserError);
});

test('a bill is compared with what the backends of its provider booked', async () => {
  const bill = path.join(os.tmpdir(), `bill-${process.pid}.csv`);
  after(() => fs.rmSync(bill, { force: true }));
  fs.writeFileSync(bill, `date,model,input_tokens,output_tokens,cost,currency\n${day},gpt,200,0,0.5,USD\n`);
  const same = await run('reconcile', bill, '--backend', 'b', '--model', 'gpt=m');
  assert.deepEqual([same.error, same.exit], [null, 0]);
  assert.match(same.out, new RegExp(`^${day} +m +200 +200 +0 +0 +0\\.5 +0\\.5 +0 +USD$`, 'm'));
  const more = await run('reconcile', bill, '--model', 'gpt=m', '--csv');
  assert.equal(more.exit, 1);
  assert.match(more.out, new RegExp(`^${day},m,200,300,0,0,500000,750000,-250000,USD,tokens_differ\r$`, 'm'));
  const odd = await run('reconcile', bill, '--backend', 'nowhere');
  assert.match(odd.error?.message ?? '', /no backend nowhere/);
  fs.writeFileSync(bill, 'color\nred\n');
  const unread = await run('reconcile', bill);
  assert.ok(unread.error instanceof UserError);
  assert.doesNotMatch(unread.error.message, /\n/);
});

test('a bill of other names, marks and money is read, or what is wrong with it is told', async () => {
  const bill = path.join(dir, 'odd-bill.csv');
  after(() => fs.rmSync(bill, { force: true }));
  const text = `Tag;Modell;Eingabe;Ausgabe;Betrag\n${day};gpt;200;0;0,50\n`;
  fs.writeFileSync(bill, Buffer.from(`\ufeff${text}`, 'utf16le'));
  const unread = await run('reconcile', bill);
  assert.match(
    unread.error?.message ?? '',
    /no column for the date: one of date is needed, and the bill has tag, modell/,
  );
  const names = ['date=Tag', 'model=Modell', 'input_tokens=Eingabe', 'output_tokens=Ausgabe', 'cost=Betrag'];
  const words = [
    'reconcile',
    bill,
    '--backend',
    'b',
    '--model',
    'gpt=m',
    ...names.flatMap((name) => ['--column', name]),
  ];
  const same = await run(...words);
  assert.deepEqual([same.error, same.exit, same.err], [null, 0, '']);
  const euros = await run(...words, '--currency', 'EUR');
  assert.equal(euros.exit, 1);
  assert.match(euros.err, /^the bill is in EUR, the ledger in USD: nothing is converted/);
  assert.match((await run('reconcile', bill, '--column', 'price=x')).error?.message ?? '', /Write what = the name/);
});

test('how far the sink is can be seen, and set back', async () => {
  const status = await run('sink', 'status');
  assert.equal(status.error, null);
  assert.match(status.out, /^clickhouse 127\.0\.0\.1:1\/ default\.t: 3 events wait, the oldest for \d+ s$/m);
  assert.match(status.out, /^globex +2 +2$/m);
  const { data, lag_events: lag } = (await run('sink', 'status', '--json')).json();
  assert.deepEqual(
    [lag, data],
    [
      3,
      [
        { tenant: 'acme', position: null, booked: 1, unsent: 1 },
        { tenant: 'globex', position: null, booked: 2, unsent: 2 },
      ],
    ],
  );
  const replay = await run('sink', 'replay', '--from', day);
  assert.deepEqual([replay.error, replay.out], [null, '0 tenants are sent again\n']);
  assert.match((await run('sink', 'replay', '--from', 'yesterday')).error?.message ?? '', /A time is written/);
});
