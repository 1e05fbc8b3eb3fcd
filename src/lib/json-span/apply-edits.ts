import type { ByteSpan } from './scan-json.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;
const SPACE = 0x20;

/** One change of a JSON text. `json` is the bytes of a whole JSON value, taken as they are. */
export type Edit =
  /** Puts `json` in place of the value in `span`. */
  | { readonly kind: 'replace'; readonly span: ByteSpan; readonly json: Buffer }
  /** Takes the member whose value stands in `span` out of its object, with its key and one comma. */
  | { readonly kind: 'remove'; readonly span: ByteSpan }
  /** Adds a member at the end of the object that stands in `object`. The caller knows that `key` is not there yet. */
  | { readonly kind: 'insert'; readonly object: ByteSpan; readonly key: string; readonly json: Buffer };

/**
 * A copy of a valid JSON text with some values changed and every other byte as it was: numbers keep their digits, keys their
 * order. Edits must not lie in one another; several inserts into one object keep their order. Linear in text and edits.
 */
export function applyEdits(text: Buffer, edits: readonly Edit[]): Buffer {
  if (edits.length === 0) return text;
  const ordered = inOrder(edits);
  const out = new Copy(text, ordered);
  writeEdits(text, ordered, out);
  return out.finish();
}

/** The same in pieces, of which those of the text are views into it: nothing of a large text is copied. */
export function editedPieces(text: Buffer, edits: readonly Edit[]): readonly Buffer[] {
  if (edits.length === 0) return [text];
  const out = new Views(text);
  writeEdits(text, inOrder(edits), out);
  return out.pieces;
}

function inOrder(edits: readonly Edit[]): readonly Edit[] {
  return edits.toSorted((one, other) => place(one) - place(other));
}

function writeEdits(text: Buffer, ordered: readonly Edit[], out: Sink): void {
  const writer = new EditWriter(text, out);
  for (const edit of ordered) {
    if (edit.kind === 'replace') writer.replace(edit.span, edit.json);
    else if (edit.kind === 'remove') writer.remove(edit.span);
    else writer.insert(edit.object, edit.key, edit.json);
  }
  writer.finish();
}

function place(edit: Edit): number {
  return edit.kind === 'insert' ? edit.object.end - 1 : edit.span.start;
}

/** Where the edited text goes. */
interface Sink {
  /** Bytes `[start, end)` of the text. */
  keep(start: number, end: number): void;
  write(bytes: Buffer): void;
  /** The last byte that is no white space; there is one. */
  last(): number;
}

class Copy implements Sink {
  readonly #text: Buffer;
  readonly #out: Buffer;
  #length = 0;

  constructor(text: Buffer, edits: readonly Edit[]) {
    let size = text.length;
    for (const edit of edits) {
      if (edit.kind !== 'remove') size += edit.json.length;
      // A key's JSON form: at most six bytes a unit (`\u0000`), quotes, colon, comma.
      if (edit.kind === 'insert') size += edit.key.length * 6 + 4;
    }
    this.#text = text;
    this.#out = Buffer.allocUnsafe(size);
  }

  keep(start: number, end: number): void {
    this.#length += this.#text.copy(this.#out, this.#length, start, end);
  }

  write(bytes: Buffer): void {
    this.#length += bytes.copy(this.#out, this.#length);
  }

  last(): number {
    return this.#out[skipBack(this.#out, this.#length - 1)] ?? 0;
  }

  finish(): Buffer {
    return this.#out.subarray(0, this.#length);
  }
}

class Views implements Sink {
  readonly pieces: Buffer[] = [];
  readonly #text: Buffer;

  constructor(text: Buffer) {
    this.#text = text;
  }

  keep(start: number, end: number): void {
    this.pieces.push(this.#text.subarray(start, end));
  }

  write(bytes: Buffer): void {
    this.pieces.push(bytes);
  }

  last(): number {
    for (const piece of this.pieces.toReversed()) {
      const code = piece[skipBack(piece, piece.length - 1)] ?? 0;
      if (code > SPACE) return code;
    }
    return 0;
  }
}

class EditWriter {
  readonly #text: Buffer;
  readonly #out: Sink;
  /** Up to where the text has been kept or left out. */
  #at = 0;

  constructor(text: Buffer, out: Sink) {
    this.#text = text;
    this.#out = out;
  }

  replace(span: ByteSpan, json: Buffer): void {
    this.#keepTo(span.start);
    this.#out.write(json);
    this.#at = span.end;
  }

  remove(span: ByteSpan): void {
    const key = keyStart(this.#text, span.start);
    const before = skipBack(this.#text, key - 1);
    // The comma before goes along; where there is none left (first member, or the ones before are gone), the one behind.
    const first = this.#text[before] !== COMMA || before < this.#at;
    if (!first) {
      this.#keepTo(before);
      this.#at = span.end;
      return;
    }
    this.#keepTo(key);
    const behind = skipForward(this.#text, span.end);
    this.#at = this.#text[behind] === COMMA ? skipForward(this.#text, behind + 1) : span.end;
  }

  insert(object: ByteSpan, key: string, json: Buffer): void {
    this.#keepTo(object.end - 1);
    this.#out.write(Buffer.from(`${this.#out.last() === OPEN_OBJECT ? '' : ','}${JSON.stringify(key)}:`));
    this.#out.write(json);
  }

  finish(): void {
    this.#keepTo(this.#text.length);
  }

  #keepTo(end: number): void {
    if (end <= this.#at) return;
    this.#out.keep(this.#at, end);
    this.#at = end;
  }
}

/** Opening quote of the key before a value. A quote inside a key has an odd run of backslashes before it; this one none. */
function keyStart(text: Buffer, value: number): number {
  const colon = skipBack(text, value - 1);
  if (text[colon] !== COLON) throw new RangeError('The span is not the value of a member.');
  let at = skipBack(text, colon - 1) - 1;
  while (at > 0 && (text[at] !== QUOTE || text[at - 1] === BACKSLASH)) at -= 1;
  return at;
}

function skipBack(text: Buffer, from: number): number {
  let at = from;
  while (at > 0 && (text[at] ?? 0) <= SPACE) at -= 1;
  return at;
}

function skipForward(text: Buffer, from: number): number {
  let at = from;
  while (at < text.length && (text[at] ?? 0) <= SPACE) at += 1;
  return at;
}
