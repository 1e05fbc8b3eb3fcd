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
  /** Resolves when everything taken so far is on disk, or `deadlineMs` is over: gives how many entries are not. */
  flush(deadlineMs: number): Promise<number>;
  close(): Promise<void>;
}
