import type { Json } from '../json.ts';

/** One thing that happened and must be provable later. `kind` and `time` are added to what the caller says. */
export interface AuditEntry {
  /** `request`: a decision on a client's request. `admin`: a write through the admin API. `system`: of our own accord. */
  readonly kind: 'request' | 'admin' | 'system';
  /** Unix milliseconds. */
  readonly time: number;
  /** Facts without secrets; prompts only as the configuration allows. */
  readonly facts: { readonly [key: string]: Json };
}

/**
 * The append-only log. `append` takes an entry into a bounded queue at once and never throws; whether it could be kept shows
 * in `state`. What an operator wants then is the rule `audit.on_error`: with `block`, requests are refused while `failing`.
 */
export interface AuditLog {
  append(entry: AuditEntry): void;
  state(): 'ok' | 'failing';
  /**
   * True once all that was appended before this call is on disk, while others go on appending. False when that cannot be
   * had: at once while `failing`, else after `deadlineMs`.
   */
  kept(deadlineMs: number): Promise<boolean>;
  /** Resolves when everything taken so far is on disk, or `deadlineMs` is over: gives how many entries are not. */
  flush(deadlineMs: number): Promise<number>;
  close(): Promise<void>;
}

/** Keeps signed checkpoints of audit chains, outside the log's own folder. What a checkpoint says is not its business. */
export interface CheckpointStore {
  /** `folder` or `redis`, for messages. */
  readonly name: string;
  /** Adds one line of text at the chain's end; durable, as far as the store can, when it resolves. Rejects when it is not kept. */
  append(chain: string, checkpoint: string): Promise<void>;
  /** Oldest first. The oldest may have been let go of: each stands for all before it. */
  list(chain: string): Promise<readonly string[]>;
  chains(): Promise<readonly string[]>;
  /** Lets go of connections. */
  close(): Promise<void>;
}
