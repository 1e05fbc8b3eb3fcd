/** A connection that is refused is so within this time, also from afar. */
const REFUSED_MS = 100;
/** What Envoy and we take to see that the time to connect is up. */
const SLACK_MS = 250;

/** What is known of a try that gave nothing. */
export interface FailedTry {
  /** Of the head that it sent; null: none. */
  readonly status: number | null;
  /** Why its answer was no good; null: nothing came that could be judged. */
  readonly failure: string | null;
  /** Its connection stood when it began. */
  readonly isConnected: boolean;
  /** What the proxy told; null: nothing. */
  readonly isTaken: boolean | null;
}

/**
 * Did a backend take this try and then say nothing that counts? Where the proxy does not tell, times do, for nobody knows whether a
 * fresh connection ever stood: what failed at once was refused, and what failed when the time to connect was up never connected.
 */
export function wasTaken(
  { status, failure, isConnected, isTaken }: FailedTry,
  { lastedMs, connectMs }: { readonly lastedMs: number; readonly connectMs: number },
): boolean {
  if (failure !== null) return false;
  if (status !== null) return status < 400;
  if (isTaken !== null) return isTaken;
  if (isConnected) return true;
  return lastedMs > REFUSED_MS && (lastedMs < connectMs || lastedMs > connectMs + SLACK_MS);
}
