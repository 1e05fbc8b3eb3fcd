/*
 * `node bench/micro/paired.ts OTHER [wire] [words of request-flow.ts]`: the CPU of a request in this tree against that in another one
 * (a work tree of an older commit), both warm and asked in turn, so that whatever else the machine does hits both. Prints the
 * medians, the least and the ratio of each pair's median; ends by itself. `wire`: with the gRPC server, see wire.ts.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const WARM_UP = 8000;
const PAIRS = 40;
/** Of rounds that take long. */
const FEW_PAIRS = 15;
const REQUESTS = 500;

const [other, ...words] = process.argv.slice(2);
if (other === undefined) throw new Error('which other tree?');
const bytes = Number(words.find((word) => word.startsWith('prompt='))?.slice(7) ?? 0);
const part = 1 / (1 + bytes / 4096) / (words.includes('stream') ? 4 : 1);
const some = (count: number): number => Math.max(40, Math.round(count * part));

/** Microseconds of CPU a request: of the gateway, and of its Redis (0 without one). */
type Cost = readonly [own: number, redis: number];

/** Starts one tree's flow; each call asks it for a round. */
function start(tree: string): { readonly child: ChildProcess; readonly ask: (requests: number) => Promise<Cost> } {
  const script = join(tree, 'bench/micro', words.includes('wire') ? 'wire.ts' : 'request-flow.ts');
  const child = spawn(process.execPath, [script, 'serve', ...words], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout });
  return {
    child,
    async ask(requests) {
      child.stdin.write(`${requests}\n`);
      const [line] = (await once(lines, 'line')) as [string];
      const [own = Number.NaN, redis = 0] = line.split(' ').map(Number);
      return [own, redis];
    },
  };
}

const median = (figures: readonly number[]): number => figures.toSorted((a, b) => a - b)[figures.length >> 1] ?? NaN;

const trees = [start(other), start(join(import.meta.dirname, '../..'))] as const;
const taken: readonly [Cost[], Cost[]] = [[], []];
const [one, two] = trees;
for (let pair = 0; pair < 8; pair += 1) for (const tree of [one, two]) await tree.ask(some(WARM_UP / 8));
for (let pair = 0; pair < (bytes > 100_000 ? FEW_PAIRS : PAIRS); pair += 1) {
  const order = pair % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const);
  for (const at of order) taken[at].push(await trees[at].ask(some(REQUESTS)));
}
for (const { child } of trees) child.stdin?.end();
const shown = (figures: readonly number[]): string =>
  `median ${median(figures).toFixed(1)}, least ${Math.min(...figures).toFixed(1)} µs`;
for (const [at, name] of ['gateway', 'Redis'].entries()) {
  const [before, after] = taken.map((costs) => costs.map((cost) => cost[at] ?? Number.NaN));
  if (before === undefined || after === undefined || (at === 1 && !words.includes('redis'))) continue;
  const ratios = after.map((figure, pair) => figure / (before[pair] ?? Number.NaN));
  console.log(
    `${name}, ${words.join(' ') || 'everything'}: other ${shown(before)}; this ${shown(after)}; ratio ${median(ratios).toFixed(3)}`,
  );
}
process.exit();
