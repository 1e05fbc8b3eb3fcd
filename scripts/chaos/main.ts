/**
 * `npm run chaos`: the promises about faults at full size, on real Envoy and Redis. Prints one line a promise, then one
 * line of JSON with all figures, and ends with 0 when all are kept. Words choose promises by a part of their name (`server`, `redis`, `drain`, …).
 */
import { commandLine } from '../command-line.mjs';
import { fullAuditDisk } from '../../test/fault/promises/audit-disk.ts';
import { attemptsElsewhere } from '../../test/fault/promises/handoff.ts';
import { keepsDeadlines } from '../../test/fault/promises/deadlines.ts';
import { drainAlone, rollingRestarts } from '../../test/fault/promises/drain.ts';
import { killServer } from '../../test/fault/promises/kill-server.ts';
import { killWorker } from '../../test/fault/promises/kill-worker.ts';
import { exactlyK } from '../../test/fault/promises/exactly-k.ts';
import { ledgerModel } from '../../test/fault/promises/ledger-model.ts';
import { limitsServed } from '../../test/fault/promises/limits-served.ts';
import { manyLargeRequests, slowReaders } from '../../test/fault/promises/memory.ts';
import { killRedis, pauseRedis, tellsDurability } from '../../test/fault/promises/redis.ts';
import { losesState, rebuildsLedger } from '../../test/fault/promises/lose-state.ts';
import { carriesLedger } from '../../test/fault/promises/sink.ts';
import { replaysElsewhere } from '../../test/fault/promises/replay.ts';
import { sharesBreakers } from '../../test/fault/promises/shared-breakers.ts';
import { shiftsTraffic } from '../../test/fault/promises/shift.ts';
import type { Verdict } from '../../test/fault/rig/verdict.ts';

interface Run {
  readonly name: string;
  readonly run: () => Promise<readonly Verdict[]>;
}

/** What is promised on a machine that does nothing else. */
const QUIET = { refusalMs: 25, slackMs: 50, worstMs: 2000, besideMs: 2000, mostMiB: 64 } as const;

const began = performance.now();
const RUNS: readonly Run[] = [
  {
    name: 'server-kills-charge',
    run: () => killServer({ kills: 150, onCrash: 'charge', worstMs: QUIET.worstMs, say }),
  },
  {
    name: 'server-kills-release',
    run: () => killServer({ kills: 50, onCrash: 'release', worstMs: QUIET.worstMs, say }),
  },
  { name: 'worker-kills', run: () => killWorker({ kills: 20, worstMs: 3000 }) },
  { name: 'rolling-restarts', run: () => rollingRestarts({ restarts: 20 }) },
  { name: 'drain-alone', run: drainAlone },
  { name: 'redis-kills', run: () => killRedis({ kills: 30, say }) },
  { name: 'redis-durability', run: tellsDurability },
  ...(['pause', 'kill'] as const).flatMap((how) =>
    (['deny', 'allow'] as const).map((rule) => ({
      name: `redis-away-${how}-${rule}`,
      run: () => pauseRedis({ how, rule, seconds: 30, refusalMs: QUIET.refusalMs, backMs: 2000 }),
    })),
  ),
  { name: 'deadlines', run: () => keepsDeadlines({ slackMs: QUIET.slackMs }) },
  {
    name: 'memory-slow-readers',
    run: () => slowReaders({ streams: 10, mebibytes: 200, mostMiB: QUIET.mostMiB, besideMs: QUIET.besideMs }),
  },
  { name: 'memory-large-requests', run: () => manyLargeRequests({ requests: 200 }) },
  { name: 'handoff', run: attemptsElsewhere },
  { name: 'lost-state', run: () => losesState({ seconds: 30, againMs: 1000 }) },
  { name: 'ledger-rebuild', run: () => rebuildsLedger({ requests: 100_000 }) },
  { name: 'sink', run: () => carriesLedger({ kills: 20 }) },
  { name: 'shared-breakers', run: sharesBreakers },
  {
    name: 'shift',
    run: () =>
      shiftsTraffic({
        perSecond: 40,
        wellMs: 5000,
        flapsMs: 20_000,
        restMs: 15_000,
        return: { watchMs: 45_000, mostMs: 40_000 },
        say,
      }),
  },
  {
    name: 'replay',
    run: () => replaysElsewhere({ mostMs: 47_000, each: 10, after: { ms: 25_000, perSecond: 4 }, say }),
  },
  ...(['block', 'continue'] as const).map((rule) => ({
    name: `audit-disk-${rule}`,
    run: () => fullAuditDisk({ rule }),
  })),
  { name: 'exactly-k', run: () => exactlyK({ rounds: 100, say }) },
  { name: 'exactly-k-served', run: () => limitsServed({ each: 1, say }) },
  { name: 'ledger-model', run: () => ledgerModel({ memory: 100_000, redis: 5000, say }) },
];

const chosen = commandLine({
  usage: `npm run chaos -- [part of a name …]\n  all when none is given, of ${RUNS.map(({ name }) => name).join(', ')}`,
  read(words) {
    const named = RUNS.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
    if (named.length === 0)
      throw new Error(`chaos: no such promise; there are ${RUNS.map(({ name }) => name).join(', ')}`);
    return named;
  },
});

const promises: object[] = [];
let broken = 0;
let kept = 0;
for (const [index, { name, run }] of chosen.entries()) {
  say(`${name} (${index + 1} of ${chosen.length})`);
  for (const { promise, isKept, figures, values } of await attempt(name, run)) {
    promises.push({ run: name, promise, kept: isKept, ...values });
    if (isKept) kept += 1;
    else broken += 1;
    process.stdout.write(`${isKept ? 'kept  ' : 'BROKEN'} ${promise}: ${figures}\n`);
  }
}
process.stdout.write(
  `${JSON.stringify({ ok: broken === 0, kept, broken, seconds: Math.round((performance.now() - began) / 1000), promises })}\n`,
);
process.exit(broken === 0 ? 0 : 1);

/** A run that cannot even be made is a promise that is not kept. */
async function attempt(name: string, run: Run['run']): Promise<readonly Verdict[]> {
  try {
    return await run();
  } catch (reason) {
    return [
      {
        promise: name,
        isKept: false,
        values: {},
        figures: reason instanceof Error ? (reason.stack ?? reason.message) : String(reason),
      },
    ];
  }
}

/** Progress, for people. */
function say(line: string): void {
  process.stderr.write(`[${Math.round((performance.now() - began) / 1000)} s] ${line}\n`);
}
