import type { Snapshot } from '../core/snapshot.ts';

/** What stores must know of the ledger. */
export interface LedgerSettings extends Pick<Snapshot['ledger'], 'leaseMs' | 'maxEvents' | 'keepMs'> {
  /** IANA zone of the days that spending is added up by; UTC where left out. A change leaves earlier days where they are. */
  readonly zone?: string;
  /** Events kept of a tenant at the most, when somebody else trims down to `maxEvents`; asked anew for each booking. */
  readonly holdEvents?: () => number;
}
