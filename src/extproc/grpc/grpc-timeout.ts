const UNIT_MS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};

/** More than this no timer takes; whoever waits longer waits for ever. */
const LONGEST_MS = 2 ** 31 - 1;

/** Milliseconds of a `grpc-timeout` field; null without a bound; NaN when it is none. */
export function parseGrpcTimeout(text: string): number | null {
  if (text === '') return null;
  const [, digits, unit = ''] = /^(\d{1,8})([HMSmun])$/.exec(text) ?? [];
  if (digits === undefined) return Number.NaN;
  const ms = Number(digits) * (UNIT_MS[unit] ?? Number.NaN);
  return ms > LONGEST_MS ? null : ms;
}
