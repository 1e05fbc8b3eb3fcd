import type { LedgerEvent } from '../../../src/core/ledger-event.ts';
import type { Rig } from '../rig/rig.ts';
import type { Shot } from '../rig/load.ts';
import { exactly, type Figure } from '../rig/verdict.ts';

/** The ledger of one operation: what it says in sum, and whether its lease ran out. */
interface Entry {
  tokens: number;
  /** Entries that stand: expired ones that a late settlement took back are out. */
  standing: number;
  expired: boolean;
  estimated: boolean;
}

/** Ledger, day counter and the upstream's own books, held against each other. Call when nothing is open any more. */
export interface Books {
  /** What must hold whatever happened. */
  readonly figures: readonly Figure[];
  /** Operations whose lease ran out and was charged. */
  readonly expired: number;
}

export async function balance(
  rig: Rig,
  shots: readonly Shot[],
  onCrash: 'charge' | 'release' = 'charge',
): Promise<Books> {
  const entries = sumUp(await rig.ledger());
  const served = [...rig.upstream.served];
  const total = [...entries.values()].reduce((sum, { tokens }) => sum + tokens, 0);
  const lost = served.filter(([id, { promptTokens, completionTokens }]) => {
    const entry = entries.get(id);
    if (entry === undefined) return onCrash === 'charge';
    // A stream that was cut is booked by what we saw of it, and the last token may not have reached us.
    const slack = entry.estimated ? 2 : 0;
    return entry.standing > 0 && entry.tokens + slack < promptTokens + completionTokens;
  });
  const dear = served.filter(([id, { promptTokens, completionTokens, whole }]) => {
    const entry = entries.get(id);
    return entry !== undefined && whole && !entry.estimated && entry.tokens > promptTokens + completionTokens;
  });
  const doubled = [...entries.values()].filter(({ standing }) => standing > 1);
  const acknowledged = shots.filter(({ complete, id }) => complete && !entries.has(id));
  return {
    figures: [
      exactly('served and not in the ledger, or with too few tokens', lost.length, 0),
      exactly('booked above what was served', dear.length, 0),
      exactly('booked twice', doubled.length, 0),
      ...(onCrash === 'charge' ? [exactly('complete and not booked', acknowledged.length, 0)] : []),
      exactly('counter minus ledger', (await rig.counted()) - total, 0),
    ],
    expired: [...entries.values()].filter(({ expired }) => expired).length,
  };
}

function sumUp(events: readonly LedgerEvent[]): ReadonlyMap<string, Entry> {
  const entries = new Map<string, Entry>();
  for (const event of events) {
    if (event.chargedTo !== 'tenant') continue;
    const entry = entries.get(event.requestId) ?? { tokens: 0, standing: 0, expired: false, estimated: false };
    const tokens = event.promptTokens + event.completionTokens;
    entry.tokens += tokens;
    entry.standing += tokens < 0 ? -1 : 1;
    entry.expired = event.usageFlag === 'lease expired' && tokens > 0;
    entry.estimated = event.estimated;
    entries.set(event.requestId, entry);
  }
  return entries;
}
