import { StoreUnavailable } from '../core/ports/quota-store.ts';

/** The store answered, but refused the command itself: waiting will not mend it. */
export class StoreRefused extends StoreUnavailable {}
