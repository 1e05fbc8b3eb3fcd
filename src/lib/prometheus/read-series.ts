/** One line of an exposition. */
export interface Series {
  readonly labels: ReadonlyMap<string, string>;
  /** May be NaN or infinite, as it was written. */
  readonly value: number;
}

/** Lines of one name that are kept; a server that writes more is not read further. */
const MOST_SERIES = 1024;
const MOST_LABELS = 64;

const [BRACE, HASH, SPACE, TAB, QUOTE, BACKSLASH, EQUALS] = [0x7b, 0x23, 0x20, 0x09, 0x22, 0x5c, 0x3d];

/**
 * Reads the wanted series out of Prometheus' text format, in one pass; time stamps and exemplars are passed over, and so are
 * lines that are not well formed. O(n) in characters, memory by what is wanted.
 */
export function readSeries(text: string, wanted: ReadonlySet<string>): ReadonlyMap<string, readonly Series[]> {
  const found = new Map<string, Series[]>();
  for (let start = 0; start < text.length;) {
    const next = text.indexOf('\n', start);
    const end = next === -1 ? text.length : next;
    readLine(text, skipBlank(text, start, end), end, wanted, found);
    start = end + 1;
  }
  return found;
}

function readLine(
  text: string,
  start: number,
  end: number,
  wanted: ReadonlySet<string>,
  found: Map<string, Series[]>,
): void {
  if (start >= end || text.charCodeAt(start) === HASH) return;
  let at = start;
  while (at < end && !isNameEnd(text.charCodeAt(at))) at += 1;
  const name = text.slice(start, at);
  if (!wanted.has(name)) return;
  const known = found.get(name) ?? [];
  if (known.length >= MOST_SERIES) return;
  const labels = new Map<string, string>();
  at = skipBlank(text, at, end);
  if (text.charCodeAt(at) === BRACE && at < end) at = readLabels(text, at + 1, end, labels);
  const value = at === -1 ? null : readValue(text, at, end);
  if (value === null) return;
  known.push({ labels, value });
  found.set(name, known);
}

function isNameEnd(code: number): boolean {
  return code === BRACE || code === SPACE || code === TAB;
}

function skipBlank(text: string, from: number, end: number): number {
  let at = from;
  while (at < end && (text.charCodeAt(at) === SPACE || text.charCodeAt(at) === TAB)) at += 1;
  return at;
}

/** From behind the opening brace to behind the closing one; -1 when it is not well formed. */
function readLabels(text: string, from: number, end: number, labels: Map<string, string>): number {
  let at = skipBlank(text, from, end);
  for (let count = 0; at < end && text[at] !== '}'; count += 1) {
    // Not `indexOf`: it would look for it to the end of the text on every line.
    let equals = at;
    while (equals < end && text.charCodeAt(equals) !== EQUALS) equals += 1;
    if (equals >= end || count >= MOST_LABELS) return -1;
    const name = text.slice(at, equals).trim();
    const open = skipBlank(text, equals + 1, end);
    if (name === '' || open >= end || text.charCodeAt(open) !== QUOTE) return -1;
    const close = endOfText(text, open + 1, end);
    if (close === -1) return -1;
    labels.set(name, unescaped(text.slice(open + 1, close)));
    at = skipBlank(text, close + 1, end);
    if (at < end && text[at] === ',') at = skipBlank(text, at + 1, end);
    else if (text[at] !== '}') return -1;
  }
  return at < end ? at + 1 : -1;
}

function endOfText(text: string, from: number, end: number): number {
  for (let at = from; at < end; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at += 1;
  }
  return -1;
}

function unescaped(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replaceAll(/\\(.)/g, (_, char: string) => (char === 'n' ? '\n' : char));
}

const SPECIAL: Readonly<Record<string, number>> = { '+Inf': Infinity, Inf: Infinity, '-Inf': -Infinity, NaN };
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

function readValue(text: string, from: number, end: number): number | null {
  const start = skipBlank(text, from, end);
  let at = start;
  while (at < end && !isNameEnd(text.charCodeAt(at)) && text[at] !== '\r') at += 1;
  const word = text.slice(start, at);
  return SPECIAL[word] ?? (NUMBER.test(word) ? Number(word) : null);
}
