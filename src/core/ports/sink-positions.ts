/** How far a sink has got in the ledger of one tenant. */
export interface SinkPosition {
  /** Id of the last entry that the sink is known to have. */
  readonly id: string;
  /** Its number (`LedgerEntry.number`); null where that is not known. */
  readonly number: number | null;
}

/** Positions of all tenants, and which time of asking for a repetition they belong to. */
export interface SinkPositions {
  readonly turn: number;
  readonly tenants: ReadonlyMap<string, SinkPosition>;
}

/** Where positions of a sink are kept. Throws `StoreUnavailable`. */
export interface SinkPositionStore {
  load(sink: string): Promise<SinkPositions>;
  /** False, and nothing is written, when somebody rewound the sink since `turn`. */
  save(sink: string, turn: number, tenants: ReadonlyMap<string, SinkPosition>): Promise<boolean>;
  /** Sends again what comes after these positions, or all where null, of these tenants. Whoever follows notices. */
  rewind(sink: string, tenants: ReadonlyMap<string, SinkPosition | null>): Promise<void>;
}
