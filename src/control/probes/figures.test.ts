/** What is read out of the figures of model servers and GPUs, and what is made of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { HeaderList } from '../../core/http.ts';
import { GpuJudge } from './gpu-judge.ts';
import { GpuPool } from './gpu-pool.ts';
import { makeProbes } from './make-probes.ts';
import { backend, configOf, dcgm, desk, GPU, incarnationOf, probesOf, SCRAPED, silentLog } from './probe-kit.test.ts';
import { readGpu } from './read-gpu.ts';
import { judgeLoad, readLoad } from './read-load.ts';
import { createScrapeProbe } from './scrape-probe.ts';

const LIMITS = { queue: 8, cache: 0.95 };

const VLLM = `# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="llama"} 20.0
vllm:num_requests_running{engine="1",model_name="llama"} 22.0
vllm:num_requests_waiting{engine="0",model_name="llama"} 3.0
vllm:num_requests_waiting{engine="1",model_name="llama"} 13.0
vllm:kv_cache_usage_perc{engine="0",model_name="llama"} 0.5
vllm:kv_cache_usage_perc{engine="1",model_name="llama"} 0.91
`;

test('the load of a server, by the names that servers have for it', () => {
  assert.deepEqual(readLoad(VLLM), { running: 42, waiting: 16, cache: 0.91 });
  assert.deepEqual(readLoad('vllm:num_requests_waiting 0\nvllm:gpu_cache_usage_perc 0.2\n'), {
    running: null,
    waiting: 0,
    cache: 0.2,
  });
  const sglang = 'sglang:num_running_reqs{model_name="m"} 4.0\nsglang:num_queue_reqs 9\nsglang:token_usage 0.28\n';
  assert.deepEqual(readLoad(sglang), { running: 4, waiting: 9, cache: 0.28 });
  assert.equal(readLoad('process_cpu_seconds_total 3\n'), null);
  assert.equal(readLoad('vllm:num_requests_waiting NaN\n'), null);
});

test('a queue lowers the factor as it grows, a full cache halves it, and neither takes it out', () => {
  const judged = (waiting: number, cache: number | null = 0.1) => {
    const found = judgeLoad({ running: 1, waiting, cache }, LIMITS);
    return found === null ? null : [found.factor, found.reason];
  };
  assert.equal(judged(8), null);
  assert.equal(judged(8, null), null);
  assert.deepEqual(judged(16), [0.5, 'queue_long']);
  assert.deepEqual(judged(0, 0.96), [0.5, 'cache_full']);
  assert.deepEqual(judged(100_000), [0.1, 'queue_long']);
  fc.assert(
    fc.property(fc.nat(1e6), fc.double({ min: 0, max: 1, noNaN: true }), (waiting, cache) => {
      const factor = judgeLoad({ running: 0, waiting, cache }, LIMITS)?.factor ?? 1;
      assert.ok(factor >= 0.1 && factor <= 1);
    }),
  );
});

test('GPUs: the worst of those that have the labels', () => {
  const text = dcgm({ celsius: 50, replays: 3 }, { celsius: 92, xid: 79, replays: 4, throttle: 0x40 });
  assert.deepEqual(readGpu(text, []), { celsius: 92, xid: 79, replays: 7, throttled: true });
  // A hot neighbour on the same node is none of our business.
  assert.deepEqual(readGpu(text, [['gpu', '0']]), { celsius: 50, xid: 0, replays: 3, throttled: false });
  assert.equal(readGpu(text, [['gpu', '7']]), null);
  assert.equal(readGpu('', []), null);
  // An application's fault, and clocks held down by what is always so.
  assert.deepEqual(readGpu(dcgm({ xid: 31, throttle: 0x5 }), []), {
    celsius: 40,
    xid: 0,
    replays: 0,
    throttled: false,
  });
  const renamed = 'DCGM_FI_DEV_CLOCKS_EVENT_REASONS{gpu="0"} 32\n';
  assert.deepEqual(readGpu(renamed, []), { celsius: null, xid: 0, replays: null, throttled: true });
});

const reading = (celsius: number, changes: object = {}) => ({
  celsius,
  xid: 0,
  replays: 0,
  throttled: false,
  ...changes,
});

test('heat: out from the limit on, back below it by the hysteresis', () => {
  const judge = new GpuJudge(GPU, false);
  const path = [74, 75, 74, 71, 70.1, 70, 74, 75].map((celsius, at) => judge.see(reading(celsius), at).out);
  const hot = 'overheated';
  assert.deepEqual(path, [null, hot, hot, hot, hot, null, null, hot]);
  assert.equal(new GpuJudge(GPU, true).see(reading(72), 0).out, 'overheated', 'who takes over goes on');
  assert.equal(new GpuJudge(GPU, false).see(reading(40, { xid: 79 }), 0).out, 'gpu_fault');
});

test('of transfers that were repeated the rate counts, not the number', () => {
  const judge = new GpuJudge(GPU, false);
  const see = (at: number, replays: number) => judge.see(reading(40, { replays }), at).out;
  assert.equal(see(0, 1_000_000), null);
  for (let at = 5000; at <= 60_000; at += 5000) assert.equal(see(at, 1_000_000 + at / 1000), null);
  assert.equal(see(65_000, 1_000_100), null);
  assert.equal(see(70_000, 1_000_150), 'gpu_fault');
  assert.equal(see(75_000, 3), null, 'the driver began anew');
  for (let at = 80_000; at <= 200_000; at += 5000) see(at, 3);
  assert.equal(see(205_000, 4), null);
});

function pool(count: number, panicShare = 0.5) {
  const made = desk();
  const backends = Array.from({ length: count }, (_, at) =>
    backend(`b${at}`, probesOf({ gpu: { ...GPU, panicShare } })),
  );
  const config = configOf(...backends);
  const gpus = new GpuPool({ ...made, config: () => config, incarnationOf });
  return {
    ...made,
    gpus,
    report(at: number, out: 'overheated' | 'gpu_fault' | null, severity = 80, until = 1e12) {
      gpus.report(`b${at}`, { verdict: { out, throttled: false, severity, detail: '' }, until });
    },
    all: () => backends.map((_, at) => made.shown(`m@b${at}`, 'gpu').split(' ')[0]).join(' '),
  };
}

test('a hot one is out; never more of a model than the panic share, and the worst', () => {
  const four = pool(4);
  four.report(0, 'overheated', 80);
  assert.equal(four.all(), '0 well well well');
  four.report(1, 'overheated', 90);
  four.report(2, 'overheated', 99);
  assert.equal(four.all(), '0 0 0.1 well', 'those that are out stay out before others');
  four.report(3, 'gpu_fault', 1040);
  assert.equal(four.all(), '0.1 0 0.1 0', 'a fault goes before heat');
  four.report(1, null);
  assert.equal(four.all(), '0.1 well 0 0');
  const one = pool(1);
  one.report(0, 'overheated');
  assert.equal(one.all(), '0.1', 'the only one stays');
  const none = pool(2, 0);
  none.report(0, 'gpu_fault');
  assert.equal(none.all(), '0.1 well');
  const whole = pool(2, 1);
  whole.report(0, 'overheated');
  whole.report(1, 'overheated');
  assert.equal(whole.all(), '0 0');
});

test('whatever is hot: never more out than the share, and nobody who is well', () => {
  const step = fc.record({
    at: fc.nat(5),
    out: fc.constantFrom('overheated', 'gpu_fault', null),
    severity: fc.nat(120),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), fc.integer({ min: 0, max: 100 }), (steps, percent) => {
      const share = percent / 100;
      const made = pool(6, share);
      const bad = new Set<number>();
      for (const { at, out, severity } of steps) {
        made.report(at, out, severity);
        if (out === null) bad.delete(at);
        else bad.add(at);
        const factors = made.all().split(' ');
        const gone = factors.filter((factor) => factor === '0').length;
        assert.equal(gone, Math.min(bad.size, Math.floor((percent * 6) / 100)), `${factors.join(' ')} of ${share}`);
        factors.forEach((factor, each) => assert.equal(factor === 'well', !bad.has(each)));
      }
    }),
  );
});

test('what is known of others ends when they are silent', () => {
  const made = pool(2);
  made.report(0, 'overheated', 80, made.clock.at + 1000);
  made.report(1, 'overheated', 70);
  assert.equal(made.all(), '0 0.1');
  made.clock.at += 1000;
  made.report(1, 'overheated', 70);
  assert.equal(made.all(), 'well 0');
});

test('figures that do not come: the last ones for a while, then none, and an anomaly once', async () => {
  const { clock, findings } = desk();
  const anomalies: string[] = [];
  const served: (string | Error)[] = [];
  const taken: string[] = [];
  const probe = createScrapeProbe(
    {
      key: 'k',
      backend: 'b',
      kind: 'metrics',
      scraped: SCRAPED,
      allowLinkLocal: false,
      ask: async () => {
        const next = served.shift() ?? new Error('gone');
        if (next instanceof Error) throw next;
        return { head: { status: next === '' ? 404 : 200, headers: undefined as never }, body: Buffer.from(next) };
      },
      take: (text) => text !== 'other' && taken.push(text) > 0,
      forget: () => taken.push('forgotten'),
      log: silentLog,
      metrics: { anomaly: (kind) => anomalies.push(kind) },
    },
    { clock, findings } as never,
  );
  served.push('one', '', 'other');
  assert.deepEqual([await probe.look(), await probe.look(), await probe.look()], [true, false, false]);
  clock.at += 30_000;
  await probe.look();
  assert.deepEqual([taken, anomalies], [['one'], []]);
  clock.at += 1;
  for (let each = 0; each < 3; each += 1) await probe.look();
  assert.deepEqual([taken, anomalies], [['one', 'forgotten'], ['probe_stale']]);
  served.push('two');
  assert.equal(await probe.look(), true);
  clock.at += 30_001;
  await probe.look();
  assert.equal(anomalies.length, 2);
});

test('in a pool with {host} in its URLs figures are of each endpoint by itself', async () => {
  const made = desk();
  const endpoints = ['10.0.0.1', '::2'].map((host) => ({ host, port: 80, weight: 1 }));
  const url = 'http://{host}:9400/metrics';
  const probes = probesOf({ gpu: { ...GPU, url }, metrics: { ...SCRAPED, url, queue: 8, cache: 0.9 } });
  const config = configOf(backend('b', probes, { pool: { slowStartMs: 0 }, endpoints }));
  const asked: string[] = [];
  const all = makeProbes(config, {
    ...made,
    incarnationOf,
    dialects: new Map(),
    request: () => assert.fail('no question'),
    ask: async ({ host, port }) => {
      asked.push(`${host} ${port}`);
      const figures = `DCGM_FI_DEV_GPU_TEMP{gpu="0"} ${host === '::2' ? 90 : 40}\nvllm:num_requests_waiting ${host === '::2' ? 40 : 0}\n`;
      return { head: { status: 200, headers: new HeaderList([]) }, body: Buffer.from(figures) };
    },
    connect: () => assert.fail('no connection'),
    gpus: new GpuPool({ ...made, config: () => config, incarnationOf }),
    book: () => assert.fail('no cost'),
    worker: 0,
    log: silentLog,
    metrics: { anomaly: () => {} },
  });
  for (const probe of all) assert.equal(await probe.look(), true);
  assert.deepEqual(asked.toSorted(), ['10.0.0.1 9400', '10.0.0.1 9400', '::2 9400', '::2 9400']);
  const shown = ['m@b/10.0.0.1:80', 'm@b/[::2]:80'].map((name) =>
    ['gpu', 'metrics'].map((source) => made.shown(name, source as 'gpu').replace(/^0\.\d+/, 'less')),
  );
  assert.deepEqual(shown, [
    ['well', 'well'],
    ['0 overheated', 'less queue_long'],
  ]);
  for (const probe of all) probe.forget();
  assert.equal(made.shown('m@b/[::2]:80', 'gpu'), 'well');
});
