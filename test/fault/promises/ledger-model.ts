import { openMemoryHarness } from '../../contract/memory-harness.ts';
import { openRedisHarness } from '../../contract/redis-harness.ts';
import { playLedger } from '../../property/play-ledger.ts';
import { exactly, type Figure, told, type Verdict, verdict } from '../rig/verdict.ts';

/** Histories in one go; each go has a seed of its own. */
const GO = 2500;

export interface LedgerModelOptions {
  /** Histories of the memory's store, and of Redis. */
  readonly memory: number;
  readonly redis: number;
  readonly say?: (line: string) => void;
}

/** P11 and P19: random histories, each call compared with a model in exact integers. */
export async function ledgerModel({ memory, redis, say = () => {} }: LedgerModelOptions): Promise<readonly Verdict[]> {
  const verdicts: Verdict[] = [];
  for (const [name, runs, open] of [
    ['memory', memory, openMemoryHarness],
    ['Redis', redis, openRedisHarness],
  ] as const) {
    const answers: Record<string, number> = {};
    let [histories, calls] = [0, 0];
    let fault: Figure | null = null;
    while (histories < runs && fault === null) {
      // Each go in a store of its own: tenants that are done with would only be swept and swept.
      const harness = await open();
      try {
        const played = await playLedger(harness, { runs: Math.min(GO, runs - histories) });
        histories += played.histories;
        calls += played.calls;
        for (const [answer, count] of Object.entries(played.answers)) answers[answer] = (answers[answer] ?? 0) + count;
        say(`${histories} of ${runs} histories of ${name}`);
      } catch (reason) {
        fault = { ...told('difference', String(reason)), isGood: false };
      } finally {
        await harness.close();
      }
    }
    verdicts.push(
      verdict(`P11 P19 ledger and model agree (${name})`, [
        exactly('histories', histories, runs),
        told('calls', calls),
        ...Object.entries(answers)
          .toSorted(([one], [other]) => one.localeCompare(other))
          .map(([answer, count]) => told(answer, count)),
        ...(fault === null ? [] : [fault]),
      ]),
    );
  }
  return verdicts;
}
