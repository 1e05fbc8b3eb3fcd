import { areEscapesSound } from './check-escapes.ts';
import { hasControl } from './has-control.ts';
import { LongString, textBetween } from './long-string.ts';
import { type Holder, LongStrings } from './long-strings.ts';
import { checkEncoding, invalidJson, type ParsedJson, parseJson, readJson } from './parse-json.ts';
import { keyAt, type LongSpan, scanJson, type ScanOptions } from './scan-json.ts';

/** Bytes from which a text is searched for long strings, and from which a string is one. */
const LEAST_BODY = 4096;
const LONG = 2048;

/** What stands in the place of a long string at first: as long as any bound on short ones. */
const STAND_IN = 'x'.repeat(512);

export interface LazyOptions extends Omit<ScanOptions, 'refuseDuplicates'> {
  /** Bytes from which a text is searched for long strings. */
  readonly leastBody?: number;
}

/** A checked text whose long strings are not decoded yet. */
export interface LazyJson extends ParsedJson {
  /**
   * Until `fill` a string of 512 letters stands in `value` in the place of each, for whoever has to know no more than that there is
   * one. From then on each is decoded when it is read.
   */
  readonly longStrings: LongStrings;
}

/**
 * Checks a text by the same rules as `parseJson` with `refuseDuplicates`, and gives the same once it is filled. Long strings are
 * passed over at the speed of a native search, and most of them are never read. Throws `JsonError`. The bytes must not
 * change as long as the value is in use.
 */
export function parseLazily(body: Buffer, options: LazyOptions): LazyJson {
  const { leastBody = LEAST_BODY, longFrom = LONG } = options;
  const rules = { ...options, longFrom, refuseDuplicates: true };
  if (body.length < leastBody) return { ...parseJson(body, rules), longStrings: new LongStrings() };
  const isAscii = checkEncoding(body);
  const scan = scanJson(body, rules, null);
  if (!areEscapesSound(body, null)) throw invalidJson();
  if (scan.long.some(({ start, end }) => hasControl(body, start, end))) throw invalidJson();
  const value = readJson(outline(body, scan.long, isAscii));
  const longStrings = placeAll(value, body, scan.long, isAscii);
  if (longStrings !== null) return { ...scan, value, longStrings };
  return { ...scan, value: readJson(body.toString('utf8')), longStrings: new LongStrings() };
}

/** The text with stand-ins. */
function outline(body: Buffer, long: readonly LongSpan[], isAscii: boolean): string {
  let out = '';
  let at = 0;
  for (const { start, end } of long) {
    out += textBetween(body, isAscii, at, start) + STAND_IN;
    at = end;
  }
  return out + textBetween(body, isAscii, at, body.length);
}

/** Finds the stand-ins. Null when one is not where it should be, which nobody has seen. */
function placeAll(value: unknown, bytes: Buffer, long: readonly LongSpan[], isAscii: boolean): LongStrings | null {
  const strings = new LongStrings();
  for (const { start, end, trail } of long) {
    const path = trail.map((mark) => (mark < 0 ? -1 - mark : keyAt(bytes, mark)));
    const key = path.pop() ?? 0;
    const holder = path.reduce<Holder | undefined>(
      (inner, step) => inner?.[step] as Holder | undefined,
      value as Holder,
    );
    if (holder?.[key] !== STAND_IN) return null;
    strings.add(holder, key, new LongString({ bytes, isAscii, start, end }));
  }
  return strings;
}
