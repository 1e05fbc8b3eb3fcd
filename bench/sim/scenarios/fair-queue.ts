import type { RequestContext } from '../../../src/core/context.ts';
import type { Decision } from '../../../src/core/decision.ts';
import type { Deployment } from '../../../src/core/snapshot.ts';
import { Gate } from '../../../src/stations/schedule/gate.ts';
import { WaitingRoom, type Waited } from '../../../src/stations/schedule/waiting-room.ts';
import { createAgenda, type Agenda } from '../engine/agenda.ts';
import { mean, percentile } from '../engine/figures.ts';
import { createRandom } from '../engine/random.ts';
import { readTrace } from '../engine/traces.ts';
import { atMost, figureOf, type Column, type Row, type Sheet } from '../report/sheet.ts';
import type { Scenario, ScenarioOptions } from './scenario.ts';

const SLOTS = 32;
/** A burst of the quiet tenant: three times what fits in at once. Of smaller ones most would wait for nothing if it were alone, and for a slot of the others in any order. */
const [BURST, EVERY_MS, BURSTS] = [96, 60_000, 20];
/** The other one asks for twice as much as there is, all the time. */
const FLOOD = 2;
const [MS_PER_TOKEN, PREFILL_PER_MS] = [25, 8];
const [PLACES, PATIENCE_MS] = [2000, 600_000];

/** Nobody leaves here: a signal that keeps no listeners. */
const NEVER = { aborted: false, addEventListener() {}, removeEventListener() {} };

const FIFO = 'first come, first served';
const COLUMNS: readonly Column[] = [
  { key: 'solo', title: 'quiet tenant alone: wait p95 s', digits: 2 },
  { key: 'flooded', title: 'beside the flood: wait p95 s', digits: 2 },
  { key: 'times', title: 'times', digits: 2 },
  { key: 'refused', title: 'of its requests refused %', digits: 1 },
  { key: 'share', title: 'of all that was served: flood %', digits: 0 },
];

interface Wish {
  readonly tenant: 'quiet' | 'flood';
  readonly at: number;
  readonly tokens: number;
  readonly serviceMs: number;
}

interface Played {
  readonly waits: readonly number[];
  readonly refused: number;
  readonly floodShare: number;
}

/** Takes a request in; `seat` is called with what gives the place back, `refuse` when it gets none. */
type Door = (wish: Wish, then: { readonly seat: (leave: () => void) => void; readonly refuse: () => void }) => void;

/** One tenant floods; the other one must not suffer for it. */
export const fairQueue: Scenario = { id: 'fair-queue', baselines: [], run: (options) => [sheetOf(options)] };

function sheetOf({ ours, seeds, progress }: ScenarioOptions): Sheet {
  const doors = [[FIFO, fifo] as const, ...(ours === null ? [] : [[ours.name, queueOfTokenLat] as const])];
  const rows = doors.map(([policy, doorOf]): Row => {
    const runs = seeds.map((seed) => {
      const [quiet, flood] = wishesOf(seed);
      const solo = play(quiet, doorOf);
      const both = play(
        [...quiet, ...flood].toSorted((a, b) => a.at - b.at),
        doorOf,
      );
      progress(policy);
      return { solo: percentile(solo.waits, 0.95), flooded: percentile(both.waits, 0.95), both };
    });
    const over = (pick: (run: (typeof runs)[number]) => number): number => mean(runs.map(pick));
    return {
      policy,
      figures: {
        solo: over(({ solo }) => solo / 1000),
        flooded: over(({ flooded }) => flooded / 1000),
        times: Math.max(...runs.map(({ solo, flooded }) => flooded / solo)),
        refused: over(({ both }) => (100 * both.refused) / (BURST * BURSTS)),
        share: over(({ both }) => 100 * both.floodShare),
      },
    };
  });
  return {
    id: 'fair-queue',
    title: 'A tenant that floods',
    about:
      `A deployment with ${SLOTS} slots. One tenant sends ${BURST} requests at once each minute, another one twice as much as fits in all the time; sizes are those of the Azure ` +
      `conversations. TokenLat's queue (\`src/stations/schedule\`, \`src/lib/fair-queue\`) with ${PLACES} places, beside a queue in order of arrival of the same length. \`times\` is the worst of the seeds.`,
    columns: COLUMNS,
    rows,
    gates:
      ours === null
        ? []
        : [
            atMost('wait p95 beside the flood, times that alone', figureOf(rows, ours.name, 'times'), 2),
            atMost('of the quiet requests refused %', figureOf(rows, ours.name, 'refused'), 0, 1),
          ],
    plots: [],
  };
}

function wishesOf(seed: number): readonly [quiet: readonly Wish[], flood: readonly Wish[]] {
  const random = createRandom(seed + 900);
  const sizes = readTrace('azure-llm-2023', { faster: 1 });
  const wish = (tenant: Wish['tenant'], at: number): Wish => {
    const { promptTokens = 1, outputTokens = 1 } = sizes[Math.floor(random() * sizes.length)] ?? {};
    const serviceMs = promptTokens / PREFILL_PER_MS + outputTokens * MS_PER_TOKEN;
    return { tenant, at, tokens: promptTokens + outputTokens, serviceMs };
  };
  const quiet = Array.from({ length: BURST * BURSTS }, (_, at) =>
    wish('quiet', (1 + Math.floor(at / BURST)) * EVERY_MS),
  );
  const perMs = (FLOOD * SLOTS) / mean(quiet.map(({ serviceMs }) => serviceMs));
  const flood: Wish[] = [];
  for (let at = 0; at < (BURSTS + 1) * EVERY_MS; at -= Math.log(1 - random()) / perMs) flood.push(wish('flood', at));
  return [quiet, flood];
}

function play(wishes: readonly Wish[], doorOf: (agenda: Agenda) => Door): Played {
  const agenda = createAgenda();
  const door = doorOf(agenda);
  const waits: number[] = [];
  const served = { quiet: 0, flood: 0 };
  const lastQuiet = (BURSTS + 1) * EVERY_MS;
  let [refused, open] = [0, wishes.length];
  const arrive = (index: number): void => {
    const wish = wishes[index];
    if (wish === undefined) return;
    agenda.at(wish.at, () => {
      arrive(index + 1);
      door(wish, {
        seat: (leave) => {
          const now = agenda.now();
          if (wish.tenant === 'quiet') waits.push(now - wish.at);
          if (now >= EVERY_MS && now < lastQuiet) served[wish.tenant] += wish.tokens;
          agenda.at(now + wish.serviceMs, () => {
            open -= 1;
            leave();
          });
        },
        refuse: () => {
          open -= 1;
          if (wish.tenant === 'quiet') refused += 1;
        },
      });
    });
  };
  arrive(0);
  agenda.run(() => open === 0);
  return { waits, refused, floodShare: served.flood / (served.flood + served.quiet) };
}

/** Places in order of arrival. */
function fifo(): Door {
  const waiting: (() => void)[] = [];
  let running = 0;
  const leave = (): void => {
    running -= 1;
    waiting.shift()?.();
  };
  return (_, { seat, refuse }) => {
    const begin = (): void => {
      running += 1;
      seat(leave);
    };
    if (running < SLOTS) begin();
    else if (waiting.length < PLACES) waiting.push(begin);
    else refuse();
  };
}

/** The gateway's own gate and room. */
function queueOfTokenLat(agenda: Agenda): Door {
  const clock = { now: agenda.now };
  const room = new WaitingRoom({
    model: 'm',
    size: PLACES,
    bytes: Number.MAX_SAFE_INTEGER,
    batchShare: 0.1,
    clock,
    after: (ms, work) => agenda.at(agenda.now() + ms, work),
    metrics: { queue: () => {}, waited: () => {} },
  });
  const gate: Gate = new Gate({
    id: 'm@b',
    model: 'm',
    now: agenda.now,
    onRoom: () => room.roomAt(gate),
    onRunning: () => {},
  });
  gate.change({ slots: SLOTS, tokens: null, requests: null });
  const options = [{ deployment: { id: 'm@b' } as Deployment, start: 0, gate }];
  return ({ tenant, tokens }, { seat, refuse }) => {
    const entry = room.hasFor(gate) ? null : gate.enter(tokens);
    if (entry !== null) {
      seat(() => entry.leave());
      return;
    }
    // As much of a request as the room reads.
    const ctx = {
      signal: NEVER,
      deadline: agenda.now() + PATIENCE_MS,
      principal: { tenant },
      request: { raw: Buffer.alloc(0) },
    } as unknown as RequestContext;
    const end = (outcome: Waited | Error): void => {
      if (!(outcome instanceof Error) && outcome.kind === 'seated') seat(() => outcome.entry?.leave());
      else refuse();
    };
    const again = () => ({ decision: {} as Decision, options });
    room.join({ ctx, priority: 'interactive', cost: tokens, options, timeoutMs: PATIENCE_MS, again }, end);
  };
}
