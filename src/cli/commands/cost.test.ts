import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cliKit } from '../cli-kit.test.ts';
import { costCommand } from './cost.ts';
import { topCommand } from './top.ts';

const kit = await cliKit();
const asked = (): URLSearchParams => new URL(kit.seen.at(-1)?.url ?? '', 'http://x').searchParams;

test('a report goes back as many days as it is told, today included', async () => {
  const { out, error } = await kit.run(costCommand, ['report', '--by', 'tenant,model', '--since', '7d']);
  assert.equal(error, null);
  assert.deepEqual(
    ['from', 'to', 'unit', 'by'].map((name) => asked().get(name)),
    ['2026-11-24', '2026-12-01', 'day', 'tenant,model'],
  );
  assert.match(out, /^day +tenant +model +requests +prompt +cached +completion +cost +share$/m);
  assert.match(out, /^2026-11-30T10:00:00\.000Z +acme +m1 +1 +10 +0 +5 +1\.500000 +USD +\[#{3}\.{17}\] +16 %$/m);
});

test('hours are whole', async () => {
  await kit.run(costCommand, ['report', '--since', '90m', '--unit', 'hour', '--tenant', 'acme']);
  assert.deepEqual(
    ['from', 'to', 'by', 'tenant'].map((name) => asked().get(name)),
    ['2026-11-30T09:00:00.000Z', '2026-11-30T11:00:00.000Z', null, 'acme'],
  );
});

test('CSV and JSON hold what the API told', async () => {
  const csv = await kit.run(costCommand, ['report', '--by', 'model', '--csv', '--tenant', 'acme']);
  const lines = csv.out.split('\r\n');
  assert.equal(lines[0], 'at,model,requests,prompt_tokens,cached_tokens,completion_tokens,cost,currency');
  assert.equal(lines[2], "2026-11-30T11:00:00.000Z,'=cmd|x,2,10,0,5,1.500001,USD");
  const { json } = await kit.run(costCommand, ['report', '--json', '--tenant', 'acme']);
  assert.equal((json()['data'] as unknown[]).length, 3);
});

test('the dearest requests of a day', async () => {
  const { out, error } = await kit.run(topCommand, ['-n', '1']);
  assert.equal(error, null);
  assert.deepEqual([asked().get('day'), asked().get('count')], ['2026-11-30', '1']);
  assert.match(
    out,
    /^\[#{20}\] +0\.000042 +USD +15 +m1 +b1 +acme +default +2026-11-30T10:00:00\.000Z +request-of-acme$/m,
  );
  await kit.run(topCommand, ['--day', '2026-02-28']);
  assert.deepEqual([asked().get('day'), asked().get('count')], ['2026-02-28', '10']);
});

test("the day is one of the ledger's zone, as the API tells it, or of the zone that was named", async () => {
  const time = (): number => Date.parse('2026-11-30T23:30:00Z');
  await kit.run(topCommand, [], { time });
  assert.equal(asked().get('day'), '2026-12-01');
  await kit.run(topCommand, ['--zone', 'UTC'], { time });
  assert.equal(asked().get('day'), '2026-11-30');
  await kit.run(costCommand, ['report', '--since', '1d'], { time });
  assert.deepEqual([asked().get('from'), asked().get('to')], ['2026-12-01', '2026-12-02']);
  const odd = await kit.run(topCommand, ['--zone', 'Nowhere/Town']);
  assert.equal(odd.error?.name, 'CommanderError');
});

test('reports are watched, each second anew', async () => {
  for (const [make, ...words] of [[costCommand, 'report'], [topCommand]] as const) {
    const stop = new AbortController();
    let frames = 0;
    const out = (): void => {
      frames += 1;
      if (frames === 2) stop.abort();
    };
    const { error } = await kit.run(make, [...words, '--watch'], { out, screen: true, stopped: stop.signal });
    assert.deepEqual([error, frames], [null, 2]);
  }
});

test('odd words are told', async () => {
  for (const words of [
    ['report', '--by', 'color'],
    ['report', '--since', '0d'],
    ['report', '--since', 'ever'],
    ['report', '--unit', 'week'],
    ['export', '--format', 'xml'],
    ['export', '--from', 'yesterday'],
    ['reconcile'],
    ['reconcile', 'x.csv', '--utc-offset', '2'],
    ['verify'],
  ]) {
    const { error } = await kit.run(costCommand, words);
    assert.equal(error?.name, 'CommanderError', words.join(' '));
  }
  for (const words of [
    ['--day', '2026-02-30'],
    ['-n', '0'],
    ['-n', '101'],
  ])
    assert.equal((await kit.run(topCommand, words)).error?.name, 'CommanderError', words.join(' '));
});
