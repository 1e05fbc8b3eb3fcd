import { isAlias, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import type { Document, Node, Pair, Scalar } from 'yaml';
import { pathText } from './problem.ts';
import type { Path, Problem } from './problem.ts';

/** Bounds that no honest file meets, and that a hostile one (deep nesting, aliases of aliases) runs into at once. */
export const SOURCE_LIMITS = { bytes: 2 * 1024 * 1024, nodes: 200_000, depth: 40 } as const;

/** Plain data read from YAML: maps are objects without a prototype. */
export type Plain = null | boolean | number | string | Plain[] | { [key: string]: Plain };

interface Place {
  readonly value: number;
  readonly key: number | null;
  readonly scalar: Scalar | null;
}

/** Turns every string of a document into another one, or says what is wrong with it. */
export type Substitute = (text: string) => { readonly text: string; readonly problem: string | null };

/** A parsed file that still knows where everything stands. */
export interface YamlSource {
  readonly file: string;
  readonly data: Plain;
  readonly problems: readonly Problem[];
  /** A problem at the value of `path`, or at the nearest thing around it that exists. `offset` counts characters into a string. */
  readonly at: (path: Path, message: string, offset?: number) => Problem;
  /** Is anything written at `path`? */
  readonly has: (path: Path) => boolean;
  /** A problem at the key itself, for keys that should not be there. */
  readonly atKey: (path: Path, message: string) => Problem;
  /** True when the string there came out of a `${…}` reference. */
  readonly substituted: (path: Path) => boolean;
}

/** Reads YAML 1.2 text. Never throws: what is wrong comes back as `problems`, and `data` is what could be read. */
export function readYaml(file: string, text: string, substitute: Substitute): YamlSource {
  const lines = new LineCounter();
  const problems: Problem[] = [];
  const reader = new Reader(file, lines, text, substitute, problems);
  const here = (offset: number, path: Path, message: string): Problem => reader.problem(offset, path, message);
  if (text.length > SOURCE_LIMITS.bytes) {
    problems.push(here(0, [], `is larger than ${SOURCE_LIMITS.bytes} bytes: split long lists into files`));
    return { file, data: null, problems, ...reader.finders() };
  }
  let data: Plain = null;
  try {
    const document = parseDocument(text, { lineCounter: lines, uniqueKeys: false, prettyErrors: false, strict: true });
    const faults = [...document.errors, ...document.warnings];
    const bare = faults.length === 0 ? null : bareReference(text);
    // A `{` without quotes opens a map, and everything after it reads oddly: only the cause is told.
    if (bare !== null) problems.push(here(bare, [], 'has a reference outside quotes: write "${…}"'));
    else
      for (const fault of faults.slice(0, MAX_FAULTS))
        problems.push(here(fault.pos[0], [], yamlMessage(fault.message)));
    if (problems.length === 0) data = reader.document(document);
  } catch (error) {
    const why = error instanceof RangeError ? 'is nested too deeply' : `cannot be read: ${String(error)}`;
    problems.push(here(0, [], why));
  }
  return { file, data, problems, ...reader.finders() };
}

/** Where the first `${env:…}` or `${file:…}` stands whose line has no quote before it; null for none. */
function bareReference(text: string): number | null {
  for (const match of text.matchAll(/\$\{(?:env|file):/g)) {
    const before = text.slice(text.lastIndexOf('\n', match.index) + 1, match.index);
    if (!/["'#]/.test(before)) return match.index;
  }
  return null;
}

function yamlMessage(message: string): string {
  return `is not valid YAML: ${message.replaceAll(/\s+/g, ' ')}`;
}

/** Faults of syntax that are told: one wrong character makes many. */
const MAX_FAULTS = 5;

class TooMuch extends Error {}

class Reader {
  readonly #places = new Map<string, Place>();
  readonly #substituted = new Set<string>();
  #nodes = 0;
  readonly #file: string;
  readonly #lines: LineCounter;
  readonly #text: string;
  readonly #substitute: Substitute;
  readonly #problems: Problem[];

  constructor(file: string, lines: LineCounter, text: string, substitute: Substitute, problems: Problem[]) {
    this.#file = file;
    this.#lines = lines;
    this.#text = text;
    this.#substitute = substitute;
    this.#problems = problems;
  }

  document(document: Document.Parsed): Plain {
    try {
      return document.contents === null ? null : this.#read(document, document.contents, [], null, []);
    } catch (error) {
      if (!(error instanceof TooMuch)) throw error;
      this.#problems.push(this.problem(0, [], error.message));
      return null;
    }
  }

  problem(offset: number, path: Path, message: string): Problem {
    const { line, col } = this.#lines.linePos(Math.min(offset, this.#text.length));
    return { file: this.#file, line: Math.max(line, 1), column: Math.max(col, 1), path: pathText(path), message };
  }

  finders(): Pick<YamlSource, 'at' | 'has' | 'atKey' | 'substituted'> {
    return {
      at: (path, message, offset = 0) => {
        const place = this.#nearest(path);
        return this.problem(place.value + this.#inside(place, offset), path, message);
      },
      has: (path) => this.#places.has(pathText(path)),
      atKey: (path, message) => {
        const place = this.#places.get(pathText(path)) ?? this.#nearest(path);
        return this.problem(place.key ?? place.value, path, message);
      },
      substituted: (path) => this.#substituted.has(pathText(path)),
    };
  }

  #nearest(path: Path): Place {
    for (let length = path.length; length >= 0; length -= 1) {
      const place = this.#places.get(pathText(path.slice(0, length)));
      // A missing key is reported where its map begins: at the key that holds the map, which is the line a person edits.
      if (place !== undefined)
        return length < path.length && place.key !== null ? { ...place, value: place.key } : place;
    }
    return { value: 0, key: null, scalar: null };
  }

  /** Characters from the start of a scalar to `offset` of its value; 0 when escapes or folding make that unknown. */
  #inside(place: Place, offset: number): number {
    const scalar = place.scalar;
    if (offset <= 0 || typeof scalar?.value !== 'string') return 0;
    const quote = scalar.type === 'QUOTE_DOUBLE' || scalar.type === 'QUOTE_SINGLE' ? 1 : 0;
    const start = place.value + quote;
    const written = this.#text.slice(start, start + scalar.value.length);
    return written === scalar.value ? quote + Math.min(offset, scalar.value.length) : 0;
  }

  #read(document: Document.Parsed, node: unknown, path: Path, key: number | null, open: readonly Node[]): Plain {
    this.#nodes += 1;
    if (this.#nodes > SOURCE_LIMITS.nodes) throw new TooMuch('expands to too many values: are aliases nested?');
    if (path.length > SOURCE_LIMITS.depth) throw new TooMuch(`is nested deeper than ${SOURCE_LIMITS.depth} levels`);
    if (isAlias(node)) {
      const target = node.resolve(document);
      if (target === undefined || open.includes(target))
        throw new TooMuch(`has an alias that leads nowhere: *${node.source}`);
      return this.#read(document, target, path, key ?? node.range?.[0] ?? null, open);
    }
    const value = isNode(node) ? (node.range?.[0] ?? key ?? 0) : (key ?? 0);
    this.#places.set(pathText(path), { value, key, scalar: isScalar(node) ? node : null });
    if (isMap(node)) return this.#map(document, node.items, path, [...open, node]);
    if (isSeq(node))
      return node.items.map((item, index) => this.#read(document, item, [...path, index], null, [...open, node]));
    return isScalar(node) ? this.#scalar(node, path) : null;
  }

  #map(document: Document.Parsed, items: readonly Pair[], path: Path, open: readonly Node[]): Plain {
    const result = Object.create(null) as { [key: string]: Plain };
    for (const pair of items) {
      const node = pair.key;
      const offset = isNode(node) ? (node.range?.[0] ?? null) : null;
      if (!isScalar(node) || typeof node.value === 'object') {
        this.#problems.push(this.problem(offset ?? 0, path, 'has a key that is not a word'));
        continue;
      }
      const name = `${node.value as string | number | boolean | null}`;
      const below = [...path, name];
      if (Object.hasOwn(result, name))
        this.#problems.push(this.problem(offset ?? 0, below, `"${name}" stands here a second time: keep one`));
      else result[name] = this.#read(document, pair.value, below, offset, open);
    }
    return result;
  }

  #scalar(node: Scalar, path: Path): Plain {
    const { value } = node;
    if (typeof value === 'bigint') return Number(value);
    if (typeof value !== 'string')
      return value === null || typeof value === 'boolean' || typeof value === 'number' ? value : null;
    const { text, problem } = this.#substitute(value);
    if (problem !== null) this.#problems.push(this.problem(node.range?.[0] ?? 0, path, problem));
    if (text !== value) this.#substituted.add(pathText(path));
    return text;
  }
}
