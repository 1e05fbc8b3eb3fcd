import type { Payload } from '../payload.ts';
import type { PeerName, Setup } from '../setups/setup.ts';

/** Where a peer runs and what it stands in front of. */
export interface PeerPlace {
  /** A folder of its own, gone after the run. */
  readonly dir: string;
  readonly modelPort: number;
  /** What must answer well before it counts as started. */
  readonly probe: Payload;
  /** Ends what was started, last first. */
  readonly stops: (() => Promise<void>)[];
}

/** Another gateway that the bench can stand beside TokenLat. */
export interface Peer {
  readonly name: PeerName;
  readonly version: string;
  /** What of it runs, and what is turned on in it: one sentence for the report. */
  readonly what: string;
  isInstalled(): boolean;
  /** Fetches it by the ordinary client of its registry into `.cache/peers/`. Throws `SetupError`. */
  install(): Promise<void>;
  /** Starts it. Throws when it does not serve. */
  start(place: PeerPlace): Promise<Setup>;
}
