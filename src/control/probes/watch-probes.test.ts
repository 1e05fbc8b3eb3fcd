/** Who looks, how often, and who goes on. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import type { LeaderLease } from '../../core/ports/leader.ts';
import { StoreUnavailable } from '../../core/ports/quota-store.ts';
import { Findings } from '../../routing/findings.ts';
import { createMemoryLeaderLease } from '../../store/memory/leader.ts';
import { createDialects } from '../../app/dialects.ts';
import { HeaderList } from '../../core/http.ts';
import { createOpenAiClient } from '../../dialects/openai/dialect.ts';
import type { Probe } from './probe.ts';
import { backend, configOf, desk, incarnationOf, PACED, probesOf, silentLog } from './probe-kit.test.ts';
import { createProber } from './prober.ts';
import { watchProbes, type WatchedProbes } from './watch-probes.ts';

const NO_FIGURES = { looked: () => {}, forget: () => {} };

function prober(changes: Partial<Probe> = {}, randomOf = () => 0.5) {
  const made = desk();
  const looks: number[] = [];
  const told: string[] = [];
  const probe = (key: string, more: Partial<Probe> = {}): Probe => ({
    key,
    backend: 'b',
    kind: 'service',
    intervalMs: 5000,
    isPaid: false,
    look: async () => (looks.push(made.clock.at), true),
    forget: () => told.push(`forget ${key}`),
    ...changes,
    ...more,
  });
  let config: readonly Probe[] = [probe('one')];
  const runs = createProber({
    config: () => config,
    make: (all) => all,
    clock: made.clock,
    random: randomOf,
    figures: { looked: (name, kind, up) => told.push(`${name} ${kind} ${up}`), forget: () => told.push('forget') },
  });
  return { ...made, looks, told, probe, runs, become: (next: readonly Probe[]) => (config = next) };
}

test('looks come at their interval, a fifth more or less, and never twice at once', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { minLength: 8 }), async (lots) => {
      let at = 0;
      const { runs, clock, looks } = prober({}, () => lots[(at += 1) % lots.length] ?? 0);
      for (let tick = 0; tick < 600; tick += 1) {
        runs.tick('all');
        await runs.idle();
        clock.at += 100;
      }
      const gaps = looks.slice(1).map((time, index) => time - (looks[index] ?? 0));
      assert.ok(gaps.length >= 9 && gaps.every((gap) => gap >= 4000 && gap <= 6100), gaps.join(' '));
    }),
    { numRuns: 25 },
  );
  const slow = prober({ look: () => new Promise(() => {}) });
  let begun = 0;
  slow.become([slow.probe('two', { look: () => ((begun += 1), new Promise(() => {})) })]);
  for (let tick = 0; tick < 600; tick += 1) {
    slow.runs.tick('all');
    slow.clock.at += 100;
  }
  assert.equal(begun, 1);
});

test('what costs money is looked at by the leader alone', async () => {
  const { runs, clock, looks, become, probe } = prober();
  become([probe('paid', { isPaid: true })]);
  for (let tick = 0; tick < 100; tick += 1) {
    runs.tick('free');
    await runs.idle();
    clock.at += 100;
  }
  assert.deepEqual([looks.length, runs.isSettled()], [0, false]);
  runs.tick('all');
  await runs.idle();
  assert.deepEqual([looks.length, runs.isSettled()], [1, true]);
});

test('a configuration is followed: what goes on keeps its pace, what is gone is forgotten', async () => {
  const { runs, clock, looks, told, become, probe } = prober();
  clock.at += 1;
  runs.tick('all');
  clock.at += 500;
  runs.tick('all');
  await runs.idle();
  become([probe('one'), probe('changed', { kind: 'network' })]);
  runs.tick('all');
  await runs.idle();
  assert.equal(looks.length, 1);
  become([probe('changed', { kind: 'network' })]);
  runs.tick('all');
  assert.deepEqual(told, ['b service true', 'forget one']);
  become([probe('again', { kind: 'network' })]);
  runs.tick('all');
  assert.deepEqual(told.length, 2, 'under other rules it goes on');
  runs.tick('none');
  runs.tick('none');
  assert.deepEqual(told.slice(2), ['forget']);
  assert.equal(runs.isSettled(), false);
});

const real = { now: () => performance.now(), time: () => Date.now() };

function replicas(lease: LeaderLease, names: readonly string[], { model = false, clock = real } = {}) {
  const looks: { readonly who: string; readonly at: number }[] = [];
  const questions: string[] = [];
  const probes = probesOf({ network: PACED, model: model ? { ...PACED, maxTokens: 1 } : null });
  const config = configOf(backend('b', { ...probes, network: { ...PACED, intervalMs: 50 } }));
  const all = names.map((who): WatchedProbes =>
    watchProbes({
      config: () => config,
      lease,
      holder: who,
      findings: new Findings(),
      incarnationOf,
      dialects: createDialects({ templates: null }).backends,
      request: (model) =>
        createOpenAiClient().parse(
          { method: 'POST', path: '/v1/chat/completions', headers: new HeaderList([]) },
          Buffer.from(JSON.stringify({ model, messages: [{ role: 'user', content: 'ok?' }], max_tokens: 1 })),
          config.limits,
        ),
      connect: async () => void looks.push({ who, at: clock.now() }),
      ask: async () => {
        questions.push(who);
        throw new Error('gone');
      },
      book: () => {},
      worker: 0,
      clock,
      log: silentLog,
      metrics: { anomaly: () => {} },
      figures: NO_FIGURES,
      // A machine that stands still for a moment must not end the lease.
      ttlMs: 5000,
      roundMs: 20,
      tickMs: 10,
      unsureMs: 100,
    }),
  );
  return { all, looks, questions };
}

const until = async (holds: () => boolean, ms = 4000): Promise<void> => {
  const started = performance.now();
  while (!holds() && performance.now() - started < ms) await sleep(5);
  assert.ok(holds());
};

test('one of three looks, and says so once it has seen everything; another one goes on', async () => {
  const lease = createMemoryLeaderLease({ clock: { now: () => performance.now() } });
  const { all, looks } = replicas(lease, ['a', 'b', 'c']);
  await until(() => looks.length > 5);
  const leaders = new Set(looks.map(({ who }) => who));
  assert.equal(leaders.size, 1);
  assert.deepEqual(all.map((each) => each.speaks()).filter(Boolean).length, 1);
  const index = all.findIndex((each) => each.speaks());
  await all[index]?.close();
  assert.equal(all[index]?.speaks(), false);
  await until(() => looks.some(({ who }) => !leaders.has(who)));
  await Promise.all(all.map((each) => each.close()));
  const count = looks.length;
  await sleep(150);
  assert.equal(looks.length, count);
});

test('a leader that dies without a word is followed within three seconds', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval', 'setTimeout'] });
  let time = 0;
  const clock = { now: () => time, time: () => time };
  const lease = createMemoryLeaderLease({ clock });
  await lease.hold('probes', 'dead', 2000);
  const { all, looks } = replicas(lease, ['a', 'b'], { clock });
  for (; looks.length === 0 && time < 10_000; time += 5) {
    t.mock.timers.tick(5);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.ok(time >= 2000 && time < 3000, `${time} ms`);
  t.mock.timers.reset();
  await Promise.all(all.map((each) => each.close()));
});

test('while nobody can know who leads each looks for itself, at what costs nothing, and nobody speaks for all', async () => {
  let isGone = true;
  const memory = createMemoryLeaderLease({ clock: { now: () => performance.now() } });
  const lease: LeaderLease = {
    hold: async (...args) => {
      if (isGone) throw new StoreUnavailable('gone');
      return memory.hold(...args);
    },
    release: async () => {},
  };
  const started = performance.now();
  const { all, looks, questions } = replicas(lease, ['a', 'b'], { model: true });
  await until(() => new Set(looks.map(({ who }) => who)).size === 2);
  assert.ok((looks[0]?.at ?? 0) - started >= 100, 'a store that is away for a moment changes nothing');
  assert.deepEqual(
    [questions.length, all.some((each) => each.speaks()), all.every((each) => each.isLooking())],
    [0, false, true],
  );
  isGone = false;
  await until(() => all.filter((each) => each.isLooking()).length === 1);
  await until(() => questions.length > 0);
  await Promise.all(all.map((each) => each.close()));
});

test('without anything to look at nobody asks for the lead', async () => {
  const asked: string[] = [];
  const lease: LeaderLease = { hold: async (name) => asked.push(name) > 0, release: async () => {} };
  const watched = watchProbes({
    config: () => configOf(backend('b')),
    lease,
    holder: 'a',
    findings: new Findings(),
    incarnationOf,
    tickMs: 5,
    clock: { now: () => performance.now(), time: () => 0 },
    log: silentLog,
    figures: NO_FIGURES,
  } as unknown as Parameters<typeof watchProbes>[0]);
  await sleep(50);
  await watched.close();
  assert.deepEqual(asked, []);
});
