import type { Json } from '../json.ts';

/** The structured event of a finished request, as `tokenlat trace` prints it. */
export type RequestTrace = { readonly [key: string]: Json };

/** Recent requests by the id that the client saw. Best effort: `put` never throws and never waits long. */
export interface TraceStore {
  /** `trace`: a `RequestTrace` as JSON. */
  put(shownId: string, trace: string, keepMs: number): void;
  /** Newest first: one id may have been sent twice. */
  get(shownId: string): Promise<readonly RequestTrace[]>;
}
