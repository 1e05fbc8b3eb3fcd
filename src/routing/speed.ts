import { DecayedMean } from '../lib/decay/decayed-mean.ts';
import { DecayedRatio } from '../lib/decay/decayed-ratio.ts';
import { PassingMap } from '../lib/passing-map/passing-map.ts';
import { paceFactor } from './health-factor.ts';
import type { Lease } from './lease.ts';
import type { Pace, Paced } from './pace.ts';

/** How long samples count, milliseconds. Those that come at the end of an answer are older when they come. */
const FIRST_MEMORY_MS = 3000;
const END_MEMORY_MS = 9000;
/** So many samples of the usual speed are believed in besides: after 14 spells of memory without a new one, it is as usual again. */
const FADING = 1e-6;
/** So many times the usual is as bad as it gets: one silence of a minute must not outweigh all that comes after it. */
const WORST = 20;
/** What is usual may rise, but is not learned from what is far from it: so many times as long counts at most. */
const STEP = 3;
/** Up to this many times the usual is as fast as its peers. */
const FAST = 1.25;
/** Whoever is slower is asked again after so long, once so many others went elsewhere ... */
const AGAIN = { afterMs: 10_000, others: 40 } as const;
/** ... and sooner when its latest answer was fast. */
const BETTER = { afterMs: 1000, others: 4 } as const;
/** Answers may be this many times longer than usual before their silence says something. */
const LONG_ANSWER = 3;

/** How fast one target does one kind of work, held against its peers. Times are milliseconds of one monotonic clock. */
export class Speed implements Paced {
  readonly pace: Pace;
  readonly #isStream: boolean;
  readonly #answer: DecayedMean;
  readonly #token = new DecayedRatio(END_MEMORY_MS);
  readonly #silent = new PassingMap<number, Lease>();
  /** Streams that have begun and that no later one has outrun, the oldest first. */
  readonly #streaming = new PassingMap<number, Lease>();

  #pickedAt = 0;
  /** Requests of its kind that came by since. */
  #passed = 0;
  /** When the latest of those that are through had its first token. */
  #throughAt = -Infinity;
  /** Is it time to ask it? */
  #isDue = false;
  /** The latest request that went there, if it was sent for that. */
  #look: Lease | null = null;
  /** Was its answer as fast as usual? */
  #isBetter = false;

  constructor(pace: Pace, isStream: boolean) {
    this.pace = pace;
    this.#isStream = isStream;
    this.#answer = new DecayedMean(isStream ? FIRST_MEMORY_MS : END_MEMORY_MS);
    pace.join(this);
  }

  /** A request will go there. */
  picked(lease: Lease, now: number): void {
    this.#pickedAt = now;
    this.#passed = 0;
    this.#look = this.#isDue ? lease : null;
    this.#isDue = false;
    this.#isBetter = false;
  }

  /** A request comes by. Is it time to ask a slow one whether it is well again? Else nobody would learn of it. */
  comesBy(now: number): boolean {
    this.#passed += 1;
    const { afterMs, others } = this.#isBetter ? BETTER : AGAIN;
    const mayAsk = this.#passed >= others && now - this.#pickedAt >= afterMs && this.#silent.size === 0;
    this.#isDue = mayAsk && this.factor(now) < 1;
    return this.#isDue;
  }

  begin(lease: Lease): void {
    this.#silent.set(lease.id, lease);
  }

  drop(lease: Lease): void {
    this.#silent.take(lease.id);
    this.#streaming.take(lease.id);
  }

  /** The first token of a stream. */
  firstToken(lease: Lease, now: number): void {
    this.#silent.take(lease.id);
    if (this.#isStream) this.#streaming.set(lease.id, lease);
    this.#sample(lease.unreadTokens, ageOf(lease, now), now);
  }

  /** An answer of so many tokens went well to its end. */
  served(lease: Lease, tokens: number, now: number): void {
    this.pace.answered(tokens, now);
    if (!this.#isStream) this.#sample(tokens, ageOf(lease, now), now);
    else if (lease.firstAt !== null && tokens > 1) this.#sampleTokens(lease.firstAt, tokens - 1, now);
    if (lease === this.#look) this.#isBetter = this.#wasFast(lease, tokens, now);
  }

  #wasFast({ startedAt, firstAt, unreadTokens }: Lease, tokens: number, now: number): boolean {
    const { pace } = this;
    if (startedAt === null) return false;
    if (!this.#isStream) return now - startedAt <= FAST * (pace.expected(tokens) ?? Infinity);
    const isSoon = firstAt !== null && firstAt - startedAt <= FAST * (pace.expected(unreadTokens) ?? Infinity);
    return isSoon && (tokens < 2 || (now - firstAt) / (tokens - 1) <= FAST * (pace.tokenMs ?? Infinity));
  }

  /** It ended before anything came: how long it kept silent is known, and only ever too short. */
  heardNothing(lease: Lease, now: number): void {
    if (lease.startedAt === null || lease.firstAt !== null) return;
    const expected = this.#expectedWait(lease);
    const waited = now - lease.startedAt;
    // A fast refusal is an error, not speed.
    if (expected !== null && waited > expected) this.#answer.add(Math.min(WORST, waited / expected), now);
  }

  /** Observed over expected time; who still waits, and for how long, counts too. */
  answerPace(now: number): number | null {
    const seen = this.#answer.value === null ? null : this.#answer.shrunk(1, FADING, now);
    const oldest = this.#silent.oldest();
    if (oldest === undefined) return seen;
    const expected = this.#expectedWait(oldest);
    if (expected === null) return seen;
    const waiting = ageOf(oldest, now) / expected;
    // A wait that is shorter than usual says nothing yet.
    return seen === null ? (waiting > 1 ? waiting : null) : Math.max(seen, waiting);
  }

  /** Milliseconds a token after the first. */
  tokenPace(now: number): number | null {
    const seen = this.#token.weight(now) < FADING ? null : this.#token.value;
    const oldest = this.#streaming.oldest();
    const usual = this.pace.tokenMs;
    if (oldest === undefined || oldest.firstAt === null || usual === null) return seen;
    // What it must take at least, were the stream of a great length: one that goes on for too long tells before its end.
    const atLeast = (now - oldest.firstAt) / this.#longest(oldest);
    return seen === null ? (atLeast > usual ? atLeast : null) : Math.max(seen, atLeast);
  }

  /** 1 = as its peers or faster. */
  factor(now: number): number {
    const usual = this.pace.usual(now);
    return Math.min(paceFactor(this.answerPace(now), usual.answer), paceFactor(this.tokenPace(now), usual.token));
  }

  retire(): void {
    this.pace.leave(this);
  }

  /** A stream counts as long as samples do: of a longer one the rest says how it was, not how it is. */
  #sampleTokens(firstAt: number, tokens: number, now: number): void {
    // Older streams that still go on say nothing any more: a later one is through.
    for (const older of this.#streaming.values()) {
      if ((older.firstAt ?? now) >= firstAt) break;
      this.#streaming.take(older.id);
    }
    // One of those that ends now tells how it was before.
    if (firstAt < this.#throughAt) return;
    this.#throughAt = firstAt;
    const ms = now - firstAt;
    const part = Math.min(1, END_MEMORY_MS / Math.max(1, ms));
    this.#token.add(ms * part, tokens * part, now);
    this.pace.sawTokens(ms * part, tokens * part, now);
  }

  #sample(size: number, ms: number, now: number): void {
    const took = Math.max(0, ms);
    const expected = this.pace.expected(size);
    this.pace.saw(size, expected === null ? took : Math.min(took, STEP * expected), now);
    this.#answer.add(expected === null ? 1 : Math.min(WORST, took / expected), now);
  }

  /** How long the first sign of this one may take, as things usually are. */
  #expectedWait(lease: Lease): number | null {
    if (this.#isStream) return this.pace.expected(lease.unreadTokens);
    return this.pace.expected(this.#longest(lease));
  }

  #longest({ outputTokens }: Lease): number {
    return Math.min(outputTokens, LONG_ANSWER * this.pace.likelyOutput(outputTokens));
  }
}

/** Milliseconds since it was sent. */
function ageOf({ startedAt }: Lease, now: number): number {
  return startedAt === null ? 0 : now - startedAt;
}
