import type { Arrived, Authenticated, Received } from '../context.ts';
import type { LocalResponse } from '../http.ts';
import type { Principal } from '../principal.ts';

/** Where requests are left that nobody waits for. Each throws `GatewayError` for what its client shall read. */
export interface JobDesk {
  /** Are there jobs here? */
  isOpen(): boolean;
  /** 202, or a refusal. */
  take(ctx: Arrived & Authenticated & Received): Promise<LocalResponse>;
  show(who: Principal, id: string): Promise<LocalResponse>;
  cancel(who: Principal, id: string): Promise<LocalResponse>;
}
