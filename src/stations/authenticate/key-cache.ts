import type { Clock } from '../../core/ports/clock.ts';
import type { Log, Metrics } from '../../core/ports/telemetry.ts';
import type { JwtAlgorithm } from '../../core/snapshot.ts';
import { selectKey } from './key-set.ts';
import type { KeySet } from './key-set.ts';
import type { KeyLookup } from './verify-jws.ts';

/** Keys of one issuer, as the verifier asks for them. */
export interface KeySource {
  /** Answers at once where the key is known; else within the source's wait. Never rejects. */
  readonly find: (kid: string | null, algorithm: JwtAlgorithm) => Promise<KeyLookup> | KeyLookup;
  /**
   * Names the present keys: another number, other keys. Null while earlier verdicts must not be believed without another
   * look-up. Starts a refresh in the background where one is due.
   */
  readonly epoch: () => number | null;
  /** Loads the keys where there are none yet. Never rejects. */
  readonly prefetch: () => Promise<void>;
}

/** What `load` brings. Equal digests mean equal keys. */
export interface LoadedKeys {
  readonly digest: string;
  readonly set: KeySet;
}

export interface KeyCacheTiming {
  readonly refreshMs: number;
  /** At least this long between two loads that a failure or an unknown `kid` asks for. */
  readonly cooldownMs: number;
  /** How old keys may grow while the source fails. After that nothing is accepted. */
  readonly maxStaleMs: number;
  /** How long one request waits for a load. The load itself goes on. */
  readonly waitMs: number;
}

export interface KeyCacheOptions {
  /** For the log: no secrets in it. */
  readonly name: string;
  /** `null`: unchanged since the last time. Rejects within its own deadline. */
  readonly load: () => Promise<LoadedKeys | null>;
  readonly timing: KeyCacheTiming;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** The refresh starts in this part of its interval, so that busy gateways never wait for it. */
const EARLY = 0.8;
/** Without any keys nothing works, so the next try comes sooner than the cooldown says. */
const EMPTY_RETRY_MS = 1000;

async function within(work: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}

/**
 * Keeps keys between loads: refreshed ahead of time in the background, kept while the source fails, never replaced by an
 * empty or broken set (`load` rejects those), and closed when too old. Unknown `kid`s ask for one load per cooldown, all of
 * them together.
 */
export class KeyCache implements KeySource {
  /** May change at any time: a reload of the configuration keeps the keys. */
  timing: KeyCacheTiming;
  readonly #options: KeyCacheOptions;
  #set: KeySet | null = null;
  #digest = '';
  #epoch = 0;
  #loadedAt = Number.NEGATIVE_INFINITY;
  #triedAt = Number.NEGATIVE_INFINITY;
  #failed = false;
  #loading: Promise<void> | null = null;

  constructor(options: KeyCacheOptions) {
    this.#options = options;
    this.timing = options.timing;
  }

  readonly epoch = (): number | null => {
    const age = this.#age();
    if (this.#set !== null && age >= this.timing.refreshMs * EARLY) void this.#refreshIfDue();
    if (this.#closed() || this.#overdue()) return null;
    return this.#epoch;
  };

  readonly find = (kid: string | null, algorithm: JwtAlgorithm): Promise<KeyLookup> | KeyLookup => {
    // Also starts the early refresh.
    if (this.epoch() === null) return this.#findAfterLoad(kid, algorithm);
    const found = this.#select(kid, algorithm);
    if (found.kind !== 'none' || !this.#worthLoading(kid)) return found;
    return this.#findAfterLoad(kid, algorithm);
  };

  readonly prefetch = async (): Promise<void> => {
    if (this.#set === null) await this.#load();
  };

  #age(): number {
    return this.#options.clock.now() - this.#loadedAt;
  }

  #closed(): boolean {
    return this.#set === null || this.#age() >= this.timing.maxStaleMs;
  }

  /** Nobody asked for a while: a key removed meanwhile must not pass. Not while the source fails: then old keys go on. */
  #overdue(): boolean {
    return this.#age() >= this.timing.refreshMs && !this.#failed;
  }

  #cooled(): boolean {
    const { cooldownMs } = this.timing;
    const pause = this.#closed() ? Math.min(cooldownMs, EMPTY_RETRY_MS) : cooldownMs;
    return this.#options.clock.now() - this.#triedAt >= pause;
  }

  #refreshIfDue(): Promise<void> | null {
    if (this.#loading !== null) return this.#loading;
    return !this.#failed || this.#cooled() ? this.#load() : null;
  }

  /** A `kid` that we have but for another algorithm will not come by loading again; nor does a token without one. */
  #worthLoading(kid: string | null): boolean {
    if (kid === null || this.#set?.keys.some((key) => key.kid === kid || key.key instanceof Uint8Array)) return false;
    return this.#loading !== null || this.#cooled();
  }

  async #findAfterLoad(kid: string | null, algorithm: JwtAlgorithm): Promise<KeyLookup> {
    const needed = this.#closed() || this.#overdue();
    const work = needed ? this.#refreshIfDue() : this.#load();
    if (work !== null) await within(work, this.timing.waitMs);
    return this.#select(kid, algorithm);
  }

  #select(kid: string | null, algorithm: JwtAlgorithm): KeyLookup {
    if (this.#set === null || this.#closed()) return { kind: 'unavailable' };
    const key = selectKey(this.#set, kid, algorithm);
    return key === null ? { kind: 'none' } : { kind: 'key', key, epoch: this.#epoch };
  }

  #load(): Promise<void> {
    this.#loading ??= this.#loadOnce().finally(() => {
      this.#loading = null;
    });
    return this.#loading;
  }

  async #loadOnce(): Promise<void> {
    const { load, log, metrics, clock, name } = this.#options;
    const startedAt = clock.now();
    this.#triedAt = startedAt;
    try {
      const loaded = await load();
      this.#failed = false;
      this.#loadedAt = startedAt;
      if (loaded === null || (this.#set !== null && loaded.digest === this.#digest)) return;
      this.#set = loaded.set;
      this.#digest = loaded.digest;
      this.#epoch += 1;
      log.info('verification keys loaded', { source: name, keys: loaded.set.keys.length });
    } catch (error) {
      this.#failed = true;
      metrics.anomaly('key_load_failed');
      log.warn('verification keys not loaded', { source: name, error: error instanceof Error ? error : String(error) });
    }
  }
}
