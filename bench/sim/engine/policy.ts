import type { Random } from './random.ts';
import type { Attempt, HostLoad, Outcome, SimRequest } from './request.ts';

/** What a policy may know of a host without asking it. */
export interface HostFacts {
  readonly slots: number;
  /** What an operator would have configured: 1 for full speed, 0.5 for half. Policies that learn ignore it. */
  readonly weight: number;
  /** Blocks that the host's prefix cache holds. */
  readonly cacheBlocks: number;
  readonly modelRoom: number;
  /** The host's metrics page. A policy that is to be honest reads it in `tick` only. */
  readonly load: () => HostLoad;
}

/** How one attempt ended, as a proxy sees it. */
export interface Ending {
  readonly outcome: Outcome;
  readonly now: number;
  /** What a 429 asks for; null where nothing was said. */
  readonly retryAfterMs: number | null;
}

/**
 * What chooses hosts. A pick is always followed by a start on that host in the same step, and every start by one
 * `onEnd`. All times are virtual milliseconds.
 */
export interface Policy {
  /** The index of the host to try, null to refuse. `tried` are those that failed this request before. */
  readonly pick: (request: SimRequest, tried: readonly number[], now: number) => number | null;
  readonly onFirstToken?: (attempt: Attempt, now: number) => void;
  readonly onEnd?: (attempt: Attempt, ending: Ending) => void;
  readonly ticks?: { readonly everyMs: number; readonly tick: (now: number) => void };
}

export interface PolicyOptions {
  readonly hosts: readonly HostFacts[];
  readonly random: Random;
}

/** A policy by name, made anew for every run. */
export interface PolicySpec {
  readonly name: string;
  readonly create: (options: PolicyOptions) => Policy;
}
