import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { LiveStore, WorkerLive } from '../../core/ports/live.ts';
import { createLiveFigures } from './live-figures.ts';
import { publishLive } from './publish-live.ts';
import { createReadLive, mergeLive } from './read-live.ts';

const at = (backend: string) => ({ id: `m@${backend}`, model: 'm', backend: { name: backend } });
const SERVED = { served: true, failed: false, ms: 100, firstTokenMs: 10, tokens: 7 };
const FAILED = { served: false, failed: true, ms: 5000, firstTokenMs: null, tokens: 0 };

function collector(mostRows?: number) {
  const clock = { at: 0 };
  const figures = createLiveFigures({
    clock: { now: () => clock.at },
    ...(mostRows === undefined ? {} : { mostRows }),
  });
  return { clock, figures };
}

const worker = (
  replica: string,
  index: number,
  rows: WorkerLive['rows'],
  change: Partial<WorkerLive> = {},
): WorkerLive => ({
  replica,
  worker: index,
  startedAt: 1000 + index,
  at: 5000,
  running: 2,
  rows,
  ...change,
});

test('tries run, end, count for a minute, and are forgotten', () => {
  const { clock, figures } = collector();
  const first = figures.begin('r', at('a'));
  figures.begin('r', at('a')).end(SERVED);
  figures.begin('r', at('b')).end(FAILED);
  const [a, b] = figures.rows();
  assert.deepEqual([a?.deployment, a?.running, a?.requests, a?.errors, a?.tokens], ['m@a', 1, 1, 0, 7]);
  assert.deepEqual([b?.deployment, b?.running, b?.requests, b?.errors, b?.latency], ['m@b', 0, 1, 1, []]);
  clock.at = 61_000;
  assert.deepEqual(
    figures.rows().map((row) => [row.deployment, row.running, row.requests]),
    [['m@a', 1, 0]],
  );
  first.end(SERVED);
  assert.equal(figures.rows()[0]?.requests, 1);
  clock.at = 200_000;
  assert.deepEqual(figures.rows(), []);
});

test('rows are bounded: what is beyond them is counted as other, and room comes back', () => {
  const { clock, figures } = collector(3);
  for (let index = 0; index < 50; index += 1) figures.begin(`r${index}`, at('a')).end(SERVED);
  const rows = figures.rows();
  assert.equal(rows.length, 4);
  assert.deepEqual([rows.at(-1)?.route, rows.at(-1)?.deployment, rows.at(-1)?.requests], ['other', 'other', 47]);
  clock.at = 100_000;
  assert.deepEqual(figures.rows(), []);
  figures.begin('r9', at('a')).end(SERVED);
  assert.equal(figures.rows()[0]?.route, 'r9');
});

test('whatever begins and ends: what runs is never less than nothing, and the sums are those of all', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ backend: fc.constantFrom('a', 'b'), failed: fc.boolean(), wait: fc.nat({ max: 500 }) }), {
        maxLength: 80,
      }),
      (steps) => {
        const { clock, figures } = collector();
        const open: { end: (outcome: typeof SERVED) => void }[] = [];
        for (const { backend, wait } of steps) {
          clock.at += wait;
          open.push(figures.begin('r', at(backend)));
        }
        assert.equal(
          figures.rows().reduce((sum, row) => sum + row.running, 0),
          steps.length,
        );
        open.forEach((each, index) =>
          each.end({ ...SERVED, served: !steps[index]!.failed, failed: steps[index]!.failed }),
        );
        const { rows } = mergeLive([worker('x', 0, figures.rows())], 0);
        assert.equal(
          rows.reduce((sum, row) => sum + row.running, 0),
          0,
        );
        assert.equal(
          rows.reduce((sum, row) => sum + row.requests, 0),
          steps.length,
        );
        assert.equal(
          rows.reduce((sum, row) => sum + row.errors, 0),
          steps.filter(({ failed }) => failed).length,
        );
      },
    ),
    { numRuns: 100 },
  );
});

test('workers of all replicas are added up, and quantiles are those of all answers', () => {
  const fast = collector();
  const slow = collector();
  for (let index = 0; index < 90; index += 1) fast.figures.begin('r', at('a')).end(SERVED);
  for (let index = 0; index < 10; index += 1)
    slow.figures.begin('r', at('a')).end({ ...SERVED, ms: 4000, firstTokenMs: null });
  const state = mergeLive(
    [
      worker('one', 0, fast.figures.rows()),
      worker('one', 1, [], { running: 0 }),
      worker('two', 0, slow.figures.rows()),
    ],
    7000,
  );
  assert.deepEqual(state.replicas, [
    { id: 'one', startedAt: 1000, workers: 2, running: 2 },
    { id: 'two', startedAt: 1000, workers: 1, running: 2 },
  ]);
  const [row] = state.rows;
  assert.deepEqual([state.rows.length, row?.requests, row?.tokens, row?.running], [1, 100, 700, 0]);
  const near = (value: number | null | undefined, exact: number) =>
    assert.ok(Math.abs((value ?? 0) - exact) <= exact * 0.025, `${value} for ${exact}`);
  near(row?.latencyP50, 100);
  near(row?.latencyP95, 4000);
  near(row?.firstTokenP50, 10);
});

test('queues of all workers are added up, and the longest wait is that of all', () => {
  const queue = { model: 'm', interactive: 1, batch: 2, oldestMs: 5, refused: 3, waits: [20, 1] };
  const { queues } = mergeLive(
    [
      worker('one', 0, [], { queues: [queue] }),
      worker('two', 0, [], {
        queues: [
          { ...queue, oldestMs: 9 },
          { ...queue, model: 'a', waits: [] },
        ],
      }),
      worker('old', 0, []),
    ],
    0,
  );
  assert.deepEqual(
    queues.map(({ waitP95, ...rest }) => [Object.values(rest), waitP95 === null]),
    [
      [['a', 1, 2, 5, 3, 0], true],
      [['m', 2, 4, 9, 6, 2], false],
    ],
  );
});

test('nothing served is no figure, not zero', () => {
  const { figures } = collector();
  figures.begin('r', at('a')).end(FAILED);
  const [row] = mergeLive([worker('one', 0, figures.rows())], 0).rows;
  assert.deepEqual([row?.latencyP50, row?.latencyP95, row?.firstTokenP50], [null, null, null]);
});

test('while the store is away: what was known last, for a minute, then nothing', async () => {
  let [now, away] = [100_000, true];
  const read = createReadLive({
    store: { read: async () => (away ? Promise.reject(new Error('gone')) : [worker('one', 0, [])]) },
    clock: { time: () => now },
  });
  assert.deepEqual(await read(), { at: 100_000, replicas: [], rows: [], queues: [] });
  away = false;
  const seen = await read();
  assert.equal(seen.replicas.length, 1);
  away = true;
  now = 160_000;
  assert.deepEqual(await read(), seen);
  now = 160_001;
  assert.deepEqual(await read(), { at: 160_001, replicas: [], rows: [], queues: [] });
});

test('a worker speaks at once and again, waits for no store, and leaves', async () => {
  const said: string[] = [];
  let stuck: (() => void) | null = null;
  const store: Pick<LiveStore, 'publish' | 'leave'> = {
    publish: (state) => {
      said.push(`${state.replica} ${state.worker} ${state.running}`);
      if (said.length === 1) return Promise.reject(new Error('gone'));
      return said.length === 3 ? new Promise((resolve) => (stuck = resolve)) : Promise.resolve();
    },
    leave: async (replica, index) => void said.push(`left ${replica} ${index}`),
  };
  const told = publishLive({
    figures: { rows: () => [] },
    store,
    replica: 'one',
    worker: 3,
    running: () => 5,
    clock: { time: () => 0 },
    everyMs: 5,
  });
  const until = async (done: () => boolean) => {
    for (let turn = 0; turn < 400 && !done(); turn += 1) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.ok(done());
  };
  await until(() => stuck !== null);
  await new Promise((resolve) => setTimeout(resolve, 40));
  assert.equal(said.length, 3, 'no second word while the first is on its way');
  stuck!();
  await until(() => said.length > 3);
  await told.close();
  assert.equal(said[0], 'one 3 5');
  assert.equal(said.at(-1), 'left one 3');
});

test('of models that are loaded when asked for: the cold share and the times of warm tries', () => {
  const { figures } = collector();
  for (let index = 0; index < 3; index += 1) figures.begin('r', at('a')).end({ ...SERVED, isCold: false });
  figures.begin('r', at('a')).end({ ...SERVED, ms: 9000, firstTokenMs: 8000, isCold: true });
  figures.begin('r', at('b')).end({ ...SERVED, isCold: null });
  const [a, b] = mergeLive([worker('one', 0, figures.rows()), worker('two', 0, figures.rows())], 0).rows;
  assert.equal(a?.coldShare, 0.25);
  assert.ok(Math.abs((a?.warmP95 ?? 0) - 10) <= 0.25, `${a?.warmP95}`);
  assert.deepEqual([b?.coldShare, b?.warmP95], [null, null]);
});
