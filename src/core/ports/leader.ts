/** Which of many processes does what must be done once. */
export interface LeaderLease {
  /**
   * Takes the lease `name` for `holder`, or renews it, for `ttlMs`: true while it is the holder's. Throws `StoreUnavailable`:
   * then nobody else may be certain either, and the caller is not the leader.
   */
  hold(name: string, holder: string, ttlMs: number): Promise<boolean>;
  /** Lets go of it, where it is the holder's. */
  release(name: string, holder: string): Promise<void>;
}
