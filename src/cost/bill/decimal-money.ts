const DECIMAL = /^([+-]?)[$€£]?\s?(\d{1,3}(?:,\d{3})+|\d{1,18})(?:\.(\d{1,30}))?(?:[eE]([+-]?\d{1,2}))?\s?[$€£]?$/;
/** Digits after the point that sums keep: a bill's lines are added before they are rounded. */
const PICO_DIGITS = 12;
const PICO_PER_MICRO = 1_000_000n;

/** An amount of a bill in millionths of a millionth of its currency, and how many decimals it was written with. */
export interface DecimalAmount {
  readonly pico: bigint;
  readonly decimals: number;
}

/** `1,234.5`, `$0.10`, `0.10 €`, `8.5e-05`; null for anything else. Digits beyond the twelfth are rounded half up. */
export function parseDecimal(text: string): DecimalAmount | null {
  const [, sign, whole, fraction = '', exponent = '0'] = DECIMAL.exec(text.trim()) ?? [];
  if (whole === undefined) return null;
  const digits = BigInt(whole.replaceAll(',', '') + fraction);
  const decimals = fraction.length - Number(exponent);
  const shift = PICO_DIGITS - decimals;
  const unsigned =
    shift >= 0 ? digits * 10n ** BigInt(shift) : (digits + 10n ** BigInt(-shift) / 2n) / 10n ** BigInt(-shift);
  const written = fraction.replace(/0+$/, '').length - Number(exponent);
  return { pico: sign === '-' ? -unsigned : unsigned, decimals: Math.max(0, written) };
}

/** Half away from zero. Throws `RangeError` for what a double does not hold exactly. */
export function microOfPico(pico: bigint): number {
  const half = pico < 0n ? -PICO_PER_MICRO / 2n : PICO_PER_MICRO / 2n;
  const micro = Number((pico + half) / PICO_PER_MICRO);
  if (!Number.isSafeInteger(micro)) throw new RangeError('an amount is too large');
  return micro;
}
