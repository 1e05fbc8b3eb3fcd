/** Counts of a histogram with logarithmic buckets, as `index, count, index, count, …` of those that are not empty. */
export type SparseCounts = readonly number[];

/** What one deployment does for one route, as one worker saw it in the last minute. */
export interface LiveRow {
  readonly route: string;
  readonly model: string;
  /** `<model>@<backend>`. */
  readonly deployment: string;
  readonly backend: string;
  /** Tries under way now. */
  readonly running: number;
  /** Of tries that ended in the last minute; `errors` are those that the deployment is to blame for. */
  readonly requests: number;
  readonly errors: number;
  /** Prompt and completion together. */
  readonly tokens: number;
  /** From the try's begin to the end of its answer, and to its first token, in milliseconds; of answers that were served. */
  readonly latency: SparseCounts;
  readonly firstToken: SparseCounts;
  /** Only of models that are loaded when asked for: tries that found theirs loaded, those that did not, and the times of the former. */
  readonly loads?: { readonly warm: number; readonly cold: number; readonly warmLatency: SparseCounts };
}

/** The queue of one model, as one worker has it. */
export interface QueueRow {
  readonly model: string;
  /** Requests that wait now, by priority. */
  readonly interactive: number;
  readonly batch: number;
  /** How long the one waits that came first, milliseconds. */
  readonly oldestMs: number;
  /** Refused for want of room in the last minute. */
  readonly refused: number;
  /** How long those waited that got room in the last minute, milliseconds. */
  readonly waits: SparseCounts;
}

/** What a worker tells others for their decisions. Targets are named by their incarnation. */
export interface RoutingWord {
  readonly running: readonly (readonly [incarnation: string, running: number])[];
  /** Breakers that it opened by what it saw itself; `since` tells one opening from the next. */
  readonly open: readonly (readonly [incarnation: string, kind: string, state: 'soft' | 'hard', since: number])[];
  /** Who asked this worker for a rest, and for how many milliseconds from now. Hearsay is not passed on. */
  readonly rests?: readonly (readonly [incarnation: string, forMs: number])[];
  /** What probes found, by the one that runs them for all: everything that counts now. */
  readonly probes?: ProbeWord;
}

/** `turn` tells one word from the next. `forMs`: how long a finding counts from now. */
export interface ProbeWord {
  readonly turn: number;
  readonly found: readonly (readonly [
    incarnation: string,
    source: string,
    factor: number,
    reason: string,
    detail: string,
    forMs: number,
  ])[];
}

/** What a worker tells others of the load. */
export interface SurgeWord {
  /** Requests a second that come to it. */
  readonly rate: number;
  /** The level that it decided by what it knows; 0 = as usual. */
  readonly level: number;
}

/** What one worker says of itself. Holds names of the configuration and figures, and nothing of tenants. */
export interface WorkerLive {
  /** Names the server that it is a worker of. */
  readonly replica: string;
  readonly worker: number;
  /** Unix milliseconds. */
  readonly startedAt: number;
  readonly at: number;
  /** Requests under way, those included that wait. */
  readonly running: number;
  readonly rows: readonly LiveRow[];
  /** Of models for which somebody waits, or did in the last minute. */
  readonly queues?: readonly QueueRow[];
  readonly routing?: RoutingWord;
  readonly surge?: SurgeWord;
}

/** What every worker of every replica said last. Throws `StoreUnavailable`. */
export interface LiveStore {
  /** Is forgotten after `keepMs`, unless the worker speaks again. */
  publish(state: WorkerLive, keepMs: number): Promise<void>;
  read(): Promise<readonly WorkerLive[]>;
  /** The worker leaves. */
  leave(replica: string, worker: number): Promise<void>;
}

/** Follows one try from its begin; `end` is called once. */
export interface LiveTry {
  /** `ms`, `firstTokenMs`: since the try began; null = there was none. Times count only where `served`. */
  end(outcome: {
    readonly served: boolean;
    readonly failed: boolean;
    readonly ms: number;
    readonly firstTokenMs: number | null;
    readonly tokens: number;
    /** Had its model to be loaded first? Null or left out: it always is. */
    readonly isCold?: boolean | null;
  }): void;
}

/** Takes what the flow reports of tries, at once and without waiting. */
export interface LiveFigures {
  begin(
    route: string,
    deployment: { readonly id: string; readonly model: string; readonly backend: { readonly name: string } },
  ): LiveTry;
}

/** What happens now, over all workers of all replicas. */
export interface LiveState {
  /** Unix milliseconds. */
  readonly at: number;
  readonly replicas: readonly {
    readonly id: string;
    readonly startedAt: number;
    readonly workers: number;
    readonly running: number;
  }[];
  readonly rows: readonly {
    readonly route: string;
    readonly model: string;
    readonly deployment: string;
    readonly backend: string;
    readonly running: number;
    /** Of the last minute. */
    readonly requests: number;
    readonly errors: number;
    readonly tokens: number;
    /** Milliseconds; null where nothing was served. */
    readonly latencyP50: number | null;
    readonly latencyP95: number | null;
    readonly firstTokenP50: number | null;
    /** 0..1 of the tries that had to wait for their model, and the time of the others to the first token, or of whole answers; null where nothing is loaded. */
    readonly coldShare: number | null;
    readonly warmP95: number | null;
  }[];
  readonly queues: readonly {
    readonly model: string;
    readonly interactive: number;
    readonly batch: number;
    readonly oldestMs: number;
    /** Of the last minute. */
    readonly refused: number;
    readonly waited: number;
    /** Milliseconds; null where nobody got room after a wait. */
    readonly waitP95: number | null;
  }[];
}
