/**
 * `node bench/micro/decide.ts`: what one decision costs, in microseconds of this machine, and in parts of one `JSON.parse` of
 * a chat request of 8 KB measured in the same run.
 */
import { micros } from './micros.ts';
import { Board } from '../../src/routing/board.ts';
import { Breakers } from '../../src/routing/breakers.ts';
import { decide } from '../../src/routing/decide.ts';
import { LEAST_LOADED } from '../../src/core/score-policy.ts';
import type { Target } from '../../src/routing/target.ts';

const ASK = { promptTokens: 800, outputTokens: 200, latencyLimitMs: 30_000, kind: 'chat', stream: true };
const SCORED = {
  ...LEAST_LOADED,
  weights: { cost: 0.3, latency: 0.4, quality: 0.3 },
  load: 0.2,
  spread: { kind: 'near', near: 0.02 },
} as const;
const WARM = { keys: Array.from({ length: 16 }, (_, at) => 2 ** 40 + at * 1_234_567), tokensAKey: 512 };
const body = JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'word '.repeat(1600) }] });

function targetOf(at: number): Target {
  return {
    id: `t${at}`,
    incarnation: `t${at}`,
    group: `g${at % 4}`,
    domain: `d${at % 7}`,
    weight: 1,
    capacity: 32,
    warmRoom: null,
    shelf: null,
    price: { prompt: 1e5 * (1 + (at % 5)), completion: 3e5, currency: 'USD' },
    quality: (at % 10) / 10,
    prior: { firstTokenMs: 200, tokenMs: 20, totalMs: null },
  };
}

const parse = micros(() => JSON.parse(body), 2000);
for (const count of [2, 20, 100, 1000]) {
  const board = new Board();
  const judges = { board, breakers: new Breakers(), random: Math.random };
  const targets = Array.from({ length: count }, (_, at) => targetOf(at));
  let now = 0;
  for (const [at, each] of targets.entries())
    for (let busy = 0; busy < at % 9; busy += 1) board.begin(each, ASK, now, 1e9);
  // Sixteen blocks of 512 tokens; every target has a part of them.
  for (const [at, each] of targets.entries())
    board.begin(each, { ...ASK, warm: { ...WARM, keys: WARM.keys.slice(0, at % 17) } }, now, 1e9);
  for (const [name, policy, warmth] of [
    ['least loaded', LEAST_LOADED, null],
    ['scored', SCORED, null],
    ['warm', LEAST_LOADED, { warm: () => WARM, home: () => 7 }],
    ['warm, scored', SCORED, { warm: () => WARM, home: () => 7 }],
  ] as const) {
    const cost = micros(
      () => {
        now += 0.3;
        decide({ ask: ASK, targets, rank: 'score', policy, warmth, tries: 3, lastResort: 'anybody', now }, judges);
      },
      Math.max(20, 20_000 / count),
    );
    process.stdout.write(
      `${String(count).padStart(5)} targets, ${name.padEnd(12)} ${cost.toFixed(1).padStart(8)} µs  ${(cost / parse).toFixed(2)} × JSON.parse of 8 KB\n`,
    );
  }
}
