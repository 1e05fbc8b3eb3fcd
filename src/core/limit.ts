/** `spend` is micro-units of the currency that prices are in. */
export type LimitUnit = 'requests' | 'tokens' | 'spend';

/**
 * `sliding`: no trailing window of that length holds more than the limit. `calendar`: since the start of the day or month in
 * `zone` (an IANA name; UTC where left out). `concurrent`: at one moment; given back when the request ends.
 */
export type LimitWindow =
  | { readonly kind: 'sliding'; readonly seconds: number }
  | { readonly kind: 'calendar'; readonly unit: 'day' | 'month'; readonly zone?: string }
  | { readonly kind: 'concurrent' };

/** One limit that a request must pass. Together with the tenant, `scope` and `window` name one counter. */
export interface LimitLine {
  /** What is counted: `tenant`, or `subject:<subject>`, or `model:<model>`. Any text; stores encode it. */
  readonly scope: string;
  readonly unit: LimitUnit;
  readonly window: LimitWindow;
  /** Whole number >= 0. */
  readonly limit: number;
}

export interface LimitState {
  readonly line: LimitLine;
  /** What is left after this request's reservation; never below 0. */
  readonly remaining: number;
  /** Until the window is wholly free again. */
  readonly resetMs: number;
}

/** What a request takes from each line of that unit. What is left out is 0. */
export type Amounts = Readonly<Record<'requests' | 'tokens', number> & Partial<Record<'spend', number>>>;

/** `tokens_per_day`, as errors, metrics and configuration name a line. */
export function limitName(line: LimitLine): string {
  const { window } = line;
  if (window.kind === 'concurrent') return `concurrent_${line.unit}`;
  const per = window.kind === 'calendar' ? window.unit : window.seconds === 60 ? 'minute' : `${window.seconds}s`;
  return `${line.unit}_per_${per}`;
}
