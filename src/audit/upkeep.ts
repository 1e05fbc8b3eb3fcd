import type { AuditChainOptions } from './audit-chain-options.ts';
import type { ChainState } from './chain-state.ts';
import { NO_HASH } from './record.ts';
import { retire } from './retire.ts';
import { toError } from '../lib/error/to-error.ts';

/** How far a chain is on disk, and which segment is open. */
export type Progress = { readonly state: ChainState; readonly open: number } | null;

/** What is done beside the writing, one thing at a time: checkpoints, and removing what is past its time. */
export class Upkeep {
  readonly #options: AuditChainOptions;
  readonly #progress: () => Progress;
  readonly #timers: readonly NodeJS.Timeout[];
  #start = { from: 1, base: NO_HASH };
  #sworn = 0;
  #work: Promise<void> = Promise.resolve();

  constructor(options: AuditChainOptions, progress: () => Progress) {
    this.#options = options;
    this.#progress = progress;
    this.#timers = [
      setInterval(() => void this.swear(), options.checkpoint.everyMs).unref(),
      setInterval(() => void this.retire(), RETIRE_EVERY_MS).unref(),
    ];
  }

  /** The chain begins after the record with this hash. */
  begin(base: string): void {
    this.#start = { from: 1, base };
  }

  /** Whether record `seq` calls for a checkpoint. */
  due(seq: number): boolean {
    return this.#sworn === 0 || seq - this.#sworn >= this.#options.checkpoint.records;
  }

  /** Signs for all that is on disk when its turn comes. */
  swear(): Promise<void> {
    return this.#next('an audit checkpoint could not be made', async () => {
      const state = this.#progress()?.state;
      if (state === undefined || state.seq === 0 || state.seq === this.#sworn) return;
      const { checkpointer } = this.#options;
      // Before it is stored: a store that is away must not be asked anew with each batch.
      this.#sworn = state.seq;
      const kept = await checkpointer.issue({ ...this.#start, chain: state.chain, seq: state.seq, head: state.head });
      if (kept < checkpointer.stores) this.#sworn = state.seq - 1;
    });
  }

  retire(): Promise<void> {
    return this.#next('old audit segments could not be removed', async () => {
      const progress = this.#progress();
      if (progress === null) return;
      const { state, open } = progress;
      await retire(this.#options, { ...state, open, startAt: (start) => (this.#start = start) });
    });
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer);
  }

  #next(problem: string, run: () => Promise<void>): Promise<void> {
    this.#work = this.#work.then(run).catch((error: unknown) => {
      this.#options.log.error(problem, { error: toError(error) });
    });
    return this.#work;
  }
}

const RETIRE_EVERY_MS = 3_600_000;
