import type { Ending } from '../ending.ts';
import type { Principal } from '../principal.ts';
import type { Arm, RolloutFigures } from '../rollout.ts';
import type { Snapshot } from '../snapshot.ts';

/** Which side of a comparison a request is on. */
export interface Assigned {
  readonly rollout: string;
  readonly arm: Arm;
  readonly config: Snapshot;
}

/** Which configuration serves whom while one is rolled out, and how they fare. */
export interface RolloutView {
  /** Null: nothing is compared. */
  assign(who: Pick<Principal, 'tenant' | 'subject'>): Assigned | null;
  ended(assigned: Assigned, ending: Ending): void;
}

/** What every process has seen of a roll-out. Throws `StoreUnavailable`. */
export interface RolloutFigureStore {
  /** Says what this process has seen so far, in place of what it said before. */
  publish(rollout: string, holder: string, figures: RolloutFigures): Promise<void>;
  /** Of all processes, those that are gone included. */
  read(rollout: string): Promise<readonly RolloutFigures[]>;
}

/** Figures for Prometheus. */
export interface RolloutMetrics {
  /** Of the subjects; 0 while nothing is rolled out. */
  percent(percent: number): void;
  request(arm: Arm, outcome: 'ok' | 'error'): void;
  /** A roll-out is over, or began. Counted once, by the process that wrote it down. */
  turned(status: string): void;
}
