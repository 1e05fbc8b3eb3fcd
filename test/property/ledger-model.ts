import type { LimitLine } from '../../src/core/limit.ts';
import { microUnits, type Price } from '../../src/core/money.ts';
import { DAY, line } from '../contract/quota-harness.ts';

export const START = Date.UTC(2027, 11, 31, 23, 59, 20);
export const LEASE = 30_000;
const SECONDS = 7;
/** Tokens come in lots of an odd number, so large that sums come near the end of what a double holds. */
export const LOT = 1_000_000_000_001;

export const LINES: readonly LimitLine[] = [
  line('tokens', { kind: 'sliding', seconds: SECONDS }, 1000 * LOT),
  line('tokens', DAY, 1800 * LOT),
  line('requests', { kind: 'sliding', seconds: SECONDS }, 6),
  // UTC all the year, but reckoned as a zone.
  line('spend', { kind: 'calendar', unit: 'day', zone: 'Atlantic/Reykjavik' }, 4000 * LOT, 'key:k'),
  line('spend', { kind: 'sliding', seconds: SECONDS }, 3000 * LOT),
  line('requests', { kind: 'concurrent' }, 4, 'key:k'),
  line('tokens', { kind: 'concurrent' }, 1500 * LOT),
];

/** Micro-units per million tokens: prompt, of it from a cache, completion. The second version holds from `FROM`. */
const RATES = [
  [1_370_001n, 137_003n, 2_110_007n],
  [1_990_003n, 7n, 1_000_001n],
] as const;
const FROM = START + 9500;
const version = ([prompt, cached, completion]: (typeof RATES)[number]): Price => ({
  currency: 'USD',
  promptPerMtok: microUnits(Number(prompt)),
  cachedPerMtok: microUnits(Number(cached)),
  completionPerMtok: microUnits(Number(completion)),
});
/** What is given to the gateway's own arithmetic. */
export const PRICE: Price = { ...version(RATES[0]), later: [{ ...version(RATES[1]), validFrom: FROM }] };

/** What a request of `tokens` used. */
export interface Used {
  readonly prompt: bigint;
  readonly cached: bigint;
  readonly completion: bigint;
}

export function usedOf(tokens: bigint): Used {
  const prompt = tokens / 2n;
  return { prompt, cached: prompt / 3n, completion: tokens - prompt };
}

/** Micro-units, half up, at the version of `arrived`; something at least. */
export function worth({ prompt, cached, completion }: Used, arrived: number): bigint {
  const [text, known, said] = RATES[arrived >= FROM ? 1 : 0];
  const exact = (prompt - cached) * text + cached * known + completion * said;
  const rounded = (exact + 500_000n) / 1_000_000n;
  return exact > 0n && rounded === 0n ? 1n : rounded;
}

const kindOf = (of: number): 'sliding' | 'calendar' | 'concurrent' | undefined => LINES[of]?.window.kind;
/** What a request of so many tokens takes from each line. */
const takes = (tokens: bigint, spend: bigint, requests = 1n): readonly bigint[] => [
  tokens,
  tokens,
  requests,
  spend,
  spend,
  requests,
  tokens,
];

/** One charge of one counter: `at` is the second of a window, or the day. */
interface Charge {
  readonly line: number;
  readonly at: number;
  amount: bigint;
}

/** What an operation has come to. */
export interface Held {
  state: 'held' | 'settled' | 'expired' | 'denied';
  readonly answer: 'held' | 'denied';
  charges: Charge[];
  leaseEnds: number;
  /** Tokens and money that its lease books when it runs out; null gives all back. */
  readonly onExpiry: readonly [tokens: bigint, spend: bigint] | null;
  readonly arrived: number;
}

/** One call, in exact figures. */
export interface Call {
  readonly kind: 'admit' | 'settle' | 'release' | 'renew' | 'sweep';
  readonly operation: number;
  readonly tokens: bigint;
  readonly spend: bigint;
  /** Of a try thrown away: the gateway's cost. */
  readonly thrown: bigint;
  readonly charge: boolean;
  /** When its request came, Unix milliseconds: the version of the price is that of then. */
  readonly arrived: number;
}

/** The port's words, in the plainest way: a list of charges, summed anew each time, in exact integers. */
export class LedgerModel {
  now = START;
  readonly charges: Charge[] = [];
  readonly operations = new Map<number, Held>();
  /** What the ledger says: tokens and money of the tenant, money of the gateway. */
  readonly booked = { tokens: 0n, spend: 0n, gateway: 0n };
  /** Leases that ran out, each once. */
  expired = 0;

  /** What each counter must hold now. */
  sums(): readonly bigint[] {
    return LINES.map((_, of) => this.#sum(of));
  }

  /** Moves the model and says what the first such call must answer. */
  call(one: Call): string | boolean {
    const known = this.operations.get(one.operation);
    switch (one.kind) {
      case 'admit':
        return this.#admit(one, known);
      case 'renew':
        if (known?.state !== 'held') return false;
        known.leaseEnds = this.now + LEASE;
        return true;
      case 'settle':
        return this.#settle(one, known, takes(one.tokens, one.spend));
      case 'release':
        return this.#settle({ ...one, tokens: 0n, spend: 0n, thrown: 0n }, known, takes(0n, 0n, 0n));
      case 'sweep':
        this.#expire();
        return true;
    }
  }

  #admit(one: Call, known: Held | undefined): string {
    // Settled without ever having been asked for; any other answer is remembered, and saying it again moves nothing.
    const unasked = known?.state === 'settled' && known.answer === 'held' && known.charges.length === 0;
    if (known !== undefined && !unasked) return known.answer;
    const wanted = takes(one.tokens, one.spend);
    const full = (of: LimitLine, i: number): boolean => this.#sum(i) + (wanted[i] ?? 0n) > BigInt(of.limit);
    // A place that is missing may be one that a lease left taken.
    if (LINES.some((of, i) => kindOf(i) === 'concurrent' && full(of, i))) this.#expire();
    const fits = !LINES.some(full);
    const answer = fits ? 'held' : 'denied';
    if (unasked) return answer;
    this.operations.set(one.operation, {
      state: answer,
      answer,
      charges: fits ? wanted.map((amount, i) => this.#charge(i, amount)) : [],
      leaseEnds: this.now + LEASE,
      onExpiry: one.charge ? [one.tokens, one.spend] : null,
      arrived: this.now,
    });
    return answer;
  }

  #settle(one: Call, known: Held | undefined, actual: readonly bigint[]): string {
    if (known?.state === 'settled') return 'repeated';
    this.#book(one.tokens, one.spend);
    this.booked.gateway += one.thrown;
    if (known === undefined) {
      const unbooked = { state: 'settled', answer: 'held', charges: [], leaseEnds: 0, onExpiry: null } as const;
      this.operations.set(one.operation, { ...unbooked, charges: [], arrived: this.now });
      return 'settled';
    }
    const late = known.state === 'expired';
    if (late && known.onExpiry !== null) this.#book(-known.onExpiry[0], -known.onExpiry[1]);
    this.#replace(known, actual);
    if (!late) this.#close(known);
    known.state = 'settled';
    return late ? 'late' : 'settled';
  }

  #book(tokens: bigint, spend: bigint): void {
    this.booked.tokens += tokens;
    this.booked.spend += spend;
  }

  #sum(of: number): bigint {
    return this.charges
      .filter((charge) => charge.line === of && this.#counts(charge))
      .reduce((sum, { amount }) => sum + amount, 0n);
  }

  #counts({ line: of, at }: Charge): boolean {
    if (kindOf(of) === 'concurrent') return true;
    return kindOf(of) === 'calendar' ? at === this.#day() : at >= Math.floor(this.now / 1000) - SECONDS;
  }

  #day(): number {
    return Math.floor(this.now / 86_400_000);
  }

  #charge(of: number, amount: bigint): Charge {
    const at = kindOf(of) === 'calendar' ? this.#day() : Math.floor(this.now / 1000);
    const charge = { line: of, at, amount };
    this.charges.push(charge);
    return charge;
  }

  #replace(held: Held, actual: readonly bigint[]): void {
    for (const charge of held.charges) {
      if (kindOf(charge.line) === 'concurrent') continue;
      const difference = (actual[charge.line] ?? 0n) - charge.amount;
      // What is given back goes to where it was taken; what comes on top counts now, or on the day of the reservation.
      if (difference <= 0n || kindOf(charge.line) === 'calendar') charge.amount += difference;
      else this.#charge(charge.line, difference);
    }
  }

  /** Gives back its places. */
  #close(held: Held): void {
    for (const charge of held.charges) if (kindOf(charge.line) === 'concurrent') charge.amount = 0n;
  }

  #expire(): void {
    for (const held of this.operations.values()) {
      if (held.state !== 'held' || held.leaseEnds > this.now) continue;
      held.state = 'expired';
      this.expired += 1;
      this.#close(held);
      if (held.onExpiry === null) this.#replace(held, []);
      else this.#book(...held.onExpiry);
    }
  }
}
