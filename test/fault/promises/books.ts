import type { LedgerEvent } from '../../../src/core/ledger-event.ts';
import { type Rig, RIG_PRICE } from '../rig/rig.ts';
import type { Served } from '../rig/counting-upstream.ts';
import type { Shot } from '../rig/load.ts';
import { exactly, type Figure, told } from '../rig/verdict.ts';

/** The ledger of one operation: what it says in sum, and whether its lease ran out. */
interface Entry {
  tokens: number;
  /** Micro-units. */
  cost: number;
  /** Entries that stand: expired ones that a late settlement took back are out. */
  standing: number;
  expired: boolean;
  estimated: boolean;
}

/** Ledger, day counters, sums and the upstream's own books, held against each other. Call when nothing is open any more. */
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
  const all = await rig.ledger();
  const events = all.filter(({ chargedTo }) => chargedTo === 'tenant');
  const thrown = all.filter(({ chargedTo }) => chargedTo === 'gateway');
  const entries = sumUp(events);
  const served = [...rig.upstream.served];
  const booked = total([...entries.values()]);
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
  const counters = await rig.counted();
  const wrongSums = await rig.stores.spend.verify('acme');
  return {
    figures: [
      exactly('served and not in the ledger, or with too few tokens', lost.length, 0),
      exactly('booked above what was served', dear.length, 0),
      exactly('booked twice', doubled.length, 0),
      exactly('tries thrown away and booked twice', thrown.length - new Set(thrown.map(nameOf)).size, 0),
      ...(onCrash === 'charge' ? [exactly('complete and not booked', acknowledged.length, 0)] : []),
      ...held(served, entries),
      exactly('entries whose cost is not that of their tokens', events.filter(isMispriced).length, 0),
      exactly('counter minus ledger', counters.tokens - booked.tokens, 0),
      exactly('counter of money minus ledger, micro-units', counters.spend - booked.cost, 0),
      exactly('sums that are not those of their events', wrongSums.length, 0),
    ],
    expired: [...entries.values()].filter(({ expired }) => expired).length,
  };
}

/** The sums of both books, where the upstream told its count: they are equal to the token and to the micro-unit. */
function held(served: readonly (readonly [string, Served])[], entries: ReadonlyMap<string, Entry>): readonly Figure[] {
  const settled = served.flatMap(([id, record]) => {
    const entry = entries.get(id);
    return entry === undefined || entry.estimated || entry.standing === 0 ? [] : [{ record, entry }];
  });
  const booked = total(settled.map(({ entry }) => entry));
  const given = total(
    settled.map(({ record: { promptTokens, completionTokens } }) => ({
      tokens: promptTokens + completionTokens,
      cost: priceOf(promptTokens, completionTokens),
    })),
  );
  const estimates = [...entries.values()].filter(({ estimated, standing }) => estimated && standing > 0);
  return [
    told('requests settled by the upstream’s count', settled.length),
    told('tokens served', given.tokens),
    exactly('tokens booked minus served', booked.tokens - given.tokens, 0),
    told('money served, micro-units', given.cost),
    exactly('money booked minus served', booked.cost - given.cost, 0),
    told('booked by estimate', estimates.length),
    told('tokens of these', total(estimates).tokens),
  ];
}

const nameOf = ({ operation, attempt }: LedgerEvent): string => `${operation} ${attempt}`;

function total(of: readonly Pick<Entry, 'tokens' | 'cost'>[]): { readonly tokens: number; readonly cost: number } {
  const sum = (pick: (entry: Pick<Entry, 'tokens' | 'cost'>) => number): number =>
    Number(of.reduce((so, entry) => so + BigInt(pick(entry)), 0n));
  return { tokens: sum(({ tokens }) => tokens), cost: sum(({ cost }) => cost) };
}

const MTOK = 1_000_000n;
const rate = (perMtok: number): bigint => BigInt(Math.round(perMtok * Number(MTOK)));

/** Micro-units by the rig's price, half up, reckoned apart from the gateway. */
function priceOf(promptTokens: number, completionTokens: number): number {
  const exact =
    BigInt(promptTokens) * rate(RIG_PRICE.prompt_per_mtok) +
    BigInt(completionTokens) * rate(RIG_PRICE.completion_per_mtok);
  const rounded = (exact + MTOK / 2n) / MTOK;
  return exact === 0n ? 0 : Number(rounded === 0n ? 1n : rounded);
}

function isMispriced({ promptTokens, completionTokens, cost, model }: LedgerEvent): boolean {
  const sign = cost < 0 ? -1 : 1;
  return model !== '' && priceOf(sign * promptTokens, sign * completionTokens) !== sign * cost;
}

function sumUp(events: readonly LedgerEvent[]): ReadonlyMap<string, Entry> {
  const entries = new Map<string, Entry>();
  for (const event of events) {
    const entry = entries.get(event.requestId) ?? { tokens: 0, cost: 0, standing: 0, expired: false, estimated: false };
    const tokens = event.promptTokens + event.completionTokens;
    entry.tokens += tokens;
    entry.cost += event.cost;
    entry.standing += tokens < 0 ? -1 : 1;
    entry.expired = event.usageFlag === 'lease expired' && tokens > 0;
    entry.estimated = event.estimated;
    entries.set(event.requestId, entry);
  }
  return entries;
}
