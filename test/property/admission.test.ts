/** Gates, queues and placement together, in virtual time: whatever requests do, nothing is lost, given twice or overtaken. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { createAgenda } from '../../bench/sim/engine/agenda.ts';
import type { RequestContext } from '../../src/core/context.ts';
import type { Decision } from '../../src/core/decision.ts';
import { GatewayError } from '../../src/core/error.ts';
import type { Deployment } from '../../src/core/snapshot.ts';
import { Gates } from '../../src/stations/schedule/gates.ts';
import { Placement, type Seat } from '../../src/stations/schedule/placement.ts';
import { Rooms } from '../../src/stations/schedule/rooms.ts';
import { context, deployment } from '../../src/stations/schedule/schedule-bench.ts';

const [SLOTS, PLACES, BYTES, TIMEOUT_MS, RATE] = [2, 6, 100, 1000, 2000];

interface Asked {
  readonly ctx: RequestContext;
  readonly abort: AbortController;
  readonly number: number;
  readonly only: boolean;
  outcome: Seat | Error | null;
  endedAt: number | null;
  left: boolean;
}

/** One worker with three deployments of a model: two with slots, one with slots and a rate of tokens. */
class World {
  readonly agenda = createAgenda();
  readonly figures = new Map<string, number>();
  readonly asked: Asked[] = [];
  readonly taken = new Map<string, { at: number; tokens: number }[]>();
  /** Deployments that are out of order now: nothing new is decided to go there. */
  readonly out = new Set<string>();
  readonly deployments: readonly Deployment[] = ['a', 'b', 'r'].map((name) => ({
    ...deployment('m', { limit: SLOTS, queue: PLACES / 3 }),
    id: `m@${name}`,
    weight: 1,
    queue: { size: PLACES / 3, bytes: Math.floor(BYTES / 3), timeoutMs: TIMEOUT_MS, text: null },
    rates: name === 'r' ? { tokensPerSecond: RATE, requestsPerSecond: null, burstMs: 1000 } : null,
  }));
  readonly gates: Gates;
  readonly rooms: Rooms;
  readonly placement: Placement;

  constructor() {
    const clock = { now: () => this.agenda.now() };
    const metrics = {
      slots: (id: string, running: number) => {
        assert.ok(running >= 0 && running <= SLOTS, `${id} runs ${running}`);
        this.figures.set(id, running);
      },
      queue: (_: string, priority: string, waiting: number) => {
        this.figures.set(priority, waiting);
        assert.ok((this.figures.get('interactive') ?? 0) + (this.figures.get('batch') ?? 0) <= PLACES);
      },
      waited: (_: string, ms: number) => assert.ok(ms >= 0 && ms <= TIMEOUT_MS),
      queueRefused: () => {},
      rateShare: () => {},
    };
    this.gates = new Gates({ workers: 1, workerIndex: 0, metrics, clock, sharesRates: false, aliveOf: () => 1 });
    const after = (ms: number, work: () => void): (() => void) => this.agenda.at(this.agenda.now() + ms, work);
    this.rooms = new Rooms({ workers: 1, workerIndex: 0, metrics, clock, after, gates: this.gates });
    this.placement = new Placement({
      gates: this.gates,
      rooms: this.rooms,
      clock,
      metrics,
      again: (ctx) => this.decide(this.asked.find((each) => each.ctx === ctx) as Asked),
    });
  }

  decide({ ctx, only }: Pick<Asked, 'ctx' | 'only'>): Decision {
    const fit = this.deployments.filter(({ id }) => !this.out.has(id) && (!only || id === 'm@a'));
    const candidates = fit.map((each) => ({ deployment: each, reason: 'weighted' as const }));
    const [first, ...rest] = candidates;
    if (first === undefined) throw new GatewayError('no_candidate', 'Nobody lives.');
    return { ...ctx.decision, candidates: [first, ...rest] };
  }

  async ask(wish: {
    tenant: string;
    batch: boolean;
    tokens: number;
    bytes: number;
    patience: number;
    only: boolean;
  }): Promise<void> {
    const abort = new AbortController();
    const made = context({
      tenant: wish.tenant,
      deployments: this.deployments,
      deadline: this.agenda.now() + wish.patience,
      signal: abort.signal,
      principal: { tier: wish.batch ? 'batch' : 'usual' },
      request: { promptTokens: wish.tokens, maxOutputTokens: 0, raw: Buffer.alloc(wish.bytes) },
    });
    const config = { ...made.config, models: new Map([['m', { balance: 'weight', deployments: this.deployments }]]) };
    const ctx = { ...made, config } as unknown as RequestContext;
    const one: Asked = {
      ctx,
      abort,
      number: this.asked.length,
      only: wish.only,
      outcome: null,
      endedAt: null,
      left: false,
    };
    this.asked.push(one);
    const end = (outcome: Seat | Error): void => {
      assert.equal(one.outcome, null, 'once');
      one.outcome = outcome;
      one.endedAt = this.agenda.now();
      if (outcome instanceof Error) {
        assert.ok(outcome instanceof GatewayError, outcome.stack);
        return;
      }
      const tokens = this.taken.get(outcome.deployment.id) ?? [];
      this.taken.set(outcome.deployment.id, [...tokens, { at: this.agenda.now(), tokens: wish.tokens }]);
    };
    try {
      Object.assign(ctx, { decision: this.decide(one) });
      const seat = this.placement.place(ctx, wish.tokens);
      if (seat instanceof Promise) void seat.then(end, end);
      else end(seat);
    } catch (reason) {
      end(reason as Error);
    }
    await settled();
  }

  waiting(): readonly Asked[] {
    return this.asked.filter(({ outcome }) => outcome === null);
  }

  seated(): readonly (Asked & { readonly outcome: Seat })[] {
    return this.asked.filter(
      (each): each is Asked & { outcome: Seat } =>
        each.outcome !== null && !(each.outcome instanceof Error) && !each.left,
    );
  }

  leave(one: Asked & { readonly outcome: Seat }): void {
    one.left = true;
    one.outcome.entry?.leave();
    one.outcome.entry?.leave();
  }

  async pass(ms: number): Promise<void> {
    const until = this.agenda.now() + ms;
    let reached = false;
    this.agenda.at(until, () => (reached = true));
    // One event at a time, so that what follows from it happens at its time.
    while (!reached) {
      let done = 0;
      this.agenda.run(() => done++ > 0);
      await settled();
    }
  }

  /** What must hold at every moment. */
  check(): void {
    const waiting = this.waiting();
    assert.ok(waiting.length <= PLACES, `${waiting.length} wait`);
    assert.ok(waiting.reduce((sum, { ctx }) => sum + ctx.request.raw.length, 0) <= BYTES);
    assert.equal(
      waiting.length,
      (this.figures.get('interactive') ?? 0) + (this.figures.get('batch') ?? 0),
      'no place of one that is gone',
    );
    for (const name of ['m@a', 'm@b', 'm@r'])
      assert.equal(
        this.figures.get(name) ?? 0,
        this.seated().filter(({ outcome }) => outcome.deployment.id === name).length,
        'slots are those that are in use',
      );
    for (const { ctx, endedAt } of this.asked) assert.ok(endedAt !== null || ctx.deadline > this.agenda.now());
    // Nobody waits where there is room for all that wait. (The one whose turn it is may be dear.)
    if (this.out.size > 0) return;
    for (const each of this.deployments.slice(0, 2)) {
      if ((this.figures.get(each.id) ?? 0) >= SLOTS) continue;
      assert.deepEqual(
        waiting.filter(({ only }) => !only || each.id === 'm@a').map(({ number }) => number),
        [],
        `room at ${each.id}`,
      );
    }
  }
}

const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 4; turn += 1) await Promise.resolve();
};

const request = fc.record({
  do: fc.constant('ask' as const),
  tenant: fc.constantFrom('t', 'u', 'v'),
  batch: fc.boolean(),
  tokens: fc.constantFrom(1, 100, 1000, 3000),
  bytes: fc.integer({ min: 0, max: 40 }),
  patience: fc.constantFrom(50, 400, 5000, 5000),
  only: fc.boolean(),
});
const move = fc.oneof(
  { weight: 8, arbitrary: request },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('leave' as const), pick: fc.nat(9) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('abort' as const), pick: fc.nat(9) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.constantFrom(1, 100, 600) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('health' as const),
      name: fc.constantFrom('m@a', 'm@b', 'm@r'),
      out: fc.boolean(),
    }),
  },
);

test('whatever requests do: bounds hold, each ends once, slots come back, and nobody waits where there is room', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(move, { maxLength: 30, size: 'max' }), async (script) => {
      const world = new World();
      for (const step of script) {
        if (step.do === 'ask') await world.ask(step);
        else if (step.do === 'pass') await world.pass(step.ms);
        else if (step.do === 'health') {
          if (step.out) world.out.add(step.name);
          else world.out.delete(step.name);
          world.rooms.lookAround();
        } else if (step.do === 'leave') {
          const seated = world.seated();
          const one = seated[step.pick % Math.max(1, seated.length)];
          if (one !== undefined) world.leave(one);
        } else {
          const waiting = world.waiting();
          waiting[step.pick % Math.max(1, waiting.length)]?.abort.abort();
        }
        await settled();
        world.check();
      }
      // Nobody starves: while those that run leave, everybody has an answer within the longest wait.
      for (let passed = 0; passed <= TIMEOUT_MS; passed += 100) {
        for (const one of world.seated()) world.leave(one);
        await settled();
        await world.pass(100);
      }
      assert.deepEqual(world.waiting(), []);
      for (const one of world.seated()) world.leave(one);
      world.check();
      const log = world.taken.get('m@r') ?? [];
      for (const [at, from] of log.entries()) {
        let sum = 0;
        for (const until of log.slice(at)) {
          sum += until.tokens;
          assert.ok(sum <= (RATE * (until.at - from.at)) / 1000 + 3000 + 1e-6, 'the rate holds');
        }
      }
    }),
    { numRuns: 10_000 },
  );
});

test('of one tenant who must go soonest goes first; the others take turns; batches go last and are not forgotten', async () => {
  const world = new World();
  const full = { tenant: 'x', batch: false, tokens: 2048, bytes: 0, patience: 9000, only: true };
  await world.ask(full);
  await world.ask(full);
  const wish = (tenant: string, patience: number, batch = false) => world.ask({ ...full, tenant, patience, batch });
  await wish('t', 5000, true);
  await wish('t', 5000);
  await wish('t', 3000);
  await wish('u', 6000);
  const order: string[] = [];
  for (let turn = 0; turn < 4; turn += 1) {
    const before = new Set(world.seated());
    world.leave(world.seated()[0] as Asked & { outcome: Seat });
    await settled();
    for (const { ctx, number } of world.seated())
      if (![...before].some((each) => each.number === number))
        order.push(`${ctx.principal.tenant}${ctx.deadline}${ctx.principal.tier[0]}`);
  }
  assert.deepEqual(order, ['t3000u', 'u6000u', 't5000u', 't5000b']);
});
