const STREAM_ID = /^(\d{1,16})-(\d{1,20})$/;

/** When an entry was booked, by the clock of Redis: its ids begin with it. Null for an id of another form. */
export function bookedAt(id: string): number | null {
  const ms = STREAM_ID.exec(id)?.[1];
  return ms === undefined ? null : Number(ms);
}

/** Does `id` come after `other` in a stream? False where either is of another form. */
export function isLater(id: string, other: string): boolean {
  const [, ms, n] = STREAM_ID.exec(id) ?? [];
  const [, otherMs, otherN] = STREAM_ID.exec(other) ?? [];
  if (ms === undefined || n === undefined || otherMs === undefined || otherN === undefined) return false;
  return ms === otherMs ? BigInt(n) > BigInt(otherN) : BigInt(ms) > BigInt(otherMs);
}
