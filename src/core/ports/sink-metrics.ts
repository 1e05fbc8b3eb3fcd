/** Figures of a sink of the ledger. They are those of the process that leads; all others report nothing. */
export interface SinkMetrics {
  /** Entries that the sink took since the last report. */
  sent(events: number): void;
  /** Entries that the ledger let go of before they were sent, since the last report. */
  cut(events: number): void;
  /** `off`: this process does not lead. */
  state(state: 'off' | 'following' | 'failing'): void;
  /** Entries that are not sent, and the age of the oldest in milliseconds. */
  lag(events: number, ms: number): void;
  /** Unix milliseconds. */
  failedAt(time: number): void;
}
