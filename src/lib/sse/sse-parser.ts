import { GrowingBuffer } from './growing-buffer.ts';
import { SseLimitError } from './sse-limit-error.ts';

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const COLON = 0x3a;
const NEWLINE = Buffer.from('\n');
const EMPTY = Buffer.alloc(0);
/** Length of `event` and `retry`. */
const LONGEST_FIELD = 5;

export interface SseParserOptions {
  /** The most bytes that one event (its lines together) or one comment may have; past it `push` throws `SseLimitError`. */
  readonly maxEventBytes: number;
  /**
   * An event with at least one `data` field. `data` is a view on the pushed chunk where the event has one data line that
   * lies in one chunk, so chunks must not be written to afterwards. `event` is empty for the default type; `id` is the
   * last event id.
   */
  readonly onEvent: (data: Buffer, event: string, id: string) => void;
  /** A comment line, without its colon and one leading space. */
  readonly onComment?: (text: Buffer) => void;
  /** The `retry` field in milliseconds. */
  readonly onRetry?: (milliseconds: number) => void;
}

/** How much work was done, in bytes: both stay linear in the bytes pushed, whatever the cut. */
export interface SseWork {
  readonly searched: number;
  readonly copied: number;
}

/**
 * Push parser of the WHATWG event stream (https://html.spec.whatwg.org/multipage/server-sent-events.html). Lines end in LF,
 * CR or CRLF at any cut; each event is emitted when its blank line is there. One deviation: `end` also emits a last block
 * whose blank line is missing, because backends close a finished stream without one.
 */
export class SseParser {
  readonly #options: SseParserOptions;
  /** A line whose end has not come yet. */
  readonly #line = new GrowingBuffer();
  /** The event's data from its second line on, when there is more than one. */
  readonly #joined = new GrowingBuffer();
  #data: Buffer | null = null;
  #dataLines = 0;
  #eventBytes = 0;
  #event = '';
  #id = '';
  #firstLine = true;
  #skipLf = false;
  #dead = false;
  #searched = 0;
  #copied = 0;

  constructor(options: SseParserOptions) {
    this.#options = options;
  }

  get work(): SseWork {
    return { searched: this.#searched, copied: this.#copied };
  }

  /** Throws `SseLimitError`; events before the one at fault have been emitted by then. */
  push(chunk: Buffer): void {
    const { length } = chunk;
    if (this.#dead) throw new SseLimitError(this.#options.maxEventBytes);
    if (length === 0) return;
    let at = 0;
    if (this.#skipLf) {
      this.#skipLf = false;
      if (chunk[0] === LF) at = 1;
    }
    // The next LF and CR are each kept until passed: searching both from every line's start would be O(n^2).
    let lf = this.#find(chunk, LF, at);
    let cr = this.#find(chunk, CR, at);
    while (at < length) {
      if (lf < at) lf = this.#find(chunk, LF, at);
      if (cr < at) cr = this.#find(chunk, CR, at);
      const end = lf < cr ? lf : cr;
      if (end === length) {
        this.#keep(chunk, at, length);
        return;
      }
      this.#endLine(chunk, at, end);
      at = end + 1;
      if (end === cr) {
        if (at === length) this.#skipLf = true;
        else if (chunk[at] === LF) at += 1;
      }
    }
  }

  /** The stream ended well: what it left without a line end or blank line is taken as ended. */
  end(): void {
    if (this.#dead) return;
    if (this.#line.length > 0) this.#endLine(EMPTY, 0, 0);
    this.#dispatch();
  }

  /** Position of `byte`, or the chunk's length. */
  #find(chunk: Buffer, byte: number, from: number): number {
    // A blank line's LF is the most frequent find and needs no call.
    const found = chunk[from] === byte ? from : chunk.indexOf(byte, from);
    const end = found === -1 ? chunk.length : found;
    this.#searched += end - from;
    return end;
  }

  #keep(chunk: Buffer, start: number, end: number): void {
    this.#line.append(chunk, start, end);
    this.#copied += end - start;
    this.#bound(this.#line.length);
  }

  #bound(more: number): void {
    if (this.#eventBytes + more <= this.#options.maxEventBytes) return;
    this.#dead = true;
    throw new SseLimitError(this.#options.maxEventBytes);
  }

  #endLine(chunk: Buffer, start: number, end: number): void {
    if (this.#line.length === 0) {
      this.#takeLine(chunk, start, end);
      return;
    }
    if (end > start) this.#keep(chunk, start, end);
    const line = this.#line.take();
    this.#takeLine(line, 0, line.length);
  }

  #takeLine(line: Buffer, from: number, end: number): void {
    let start = from;
    if (this.#firstLine) {
      this.#firstLine = false;
      if (line[start] === 0xef && line[start + 1] === 0xbb && line[start + 2] === 0xbf) start += 3;
    }
    if (start >= end) {
      this.#dispatch();
      return;
    }
    this.#bound(end - start);
    if (line[start] === COLON) {
      this.#options.onComment?.(
        line.subarray(line[start + 1] === SPACE && end > start + 1 ? start + 2 : start + 1, end),
      );
      return;
    }
    this.#eventBytes += end - start + 1;
    if (isData(line, start) && (end === start + 4 || line[start + 4] === COLON)) {
      this.#addData(line, Math.min(valueStart(line, start + 4, end), end), end);
      return;
    }
    this.#takeField(line, start, end);
  }

  #addData(line: Buffer, start: number, end: number): void {
    this.#dataLines += 1;
    if (this.#dataLines === 1) {
      this.#data = line.subarray(start, end);
      return;
    }
    if (this.#data !== null) {
      this.#joined.append(this.#data, 0, this.#data.length);
      this.#copied += this.#data.length;
      this.#data = null;
    }
    this.#joined.append(NEWLINE, 0, 1);
    this.#joined.append(line, start, end);
    this.#copied += end - start + 1;
  }

  #takeField(line: Buffer, start: number, end: number): void {
    // No name we know is longer; a long unknown line must not become a string.
    const colon = line.subarray(start, Math.min(end, start + LONGEST_FIELD + 1)).indexOf(COLON);
    if (colon === -1 && end - start > LONGEST_FIELD) return;
    const nameEnd = colon === -1 ? end : start + colon;
    const name = line.toString('latin1', start, nameEnd);
    const value = (): string => line.toString('utf8', Math.min(valueStart(line, nameEnd, end), end), end);
    if (name === 'event') this.#event = value();
    else if (name === 'id') {
      const id = value();
      if (!id.includes('\0')) this.#id = id;
    } else if (name === 'retry') {
      const text = value();
      if (isDigits(text)) this.#options.onRetry?.(Number(text));
    }
  }

  #dispatch(): void {
    const event = this.#event;
    const lines = this.#dataLines;
    const data = this.#data;
    this.#event = '';
    this.#eventBytes = 0;
    this.#dataLines = 0;
    this.#data = null;
    if (lines === 0) return;
    this.#options.onEvent(data ?? this.#joined.take(), event, this.#id);
  }
}

function isData(line: Buffer, at: number): boolean {
  return line[at] === 0x64 && line[at + 1] === 0x61 && line[at + 2] === 0x74 && line[at + 3] === 0x61;
}

/** After the colon and one space. */
function valueStart(line: Buffer, colon: number, end: number): number {
  return colon + 1 < end && line[colon + 1] === SPACE ? colon + 2 : colon + 1;
}

function isDigits(text: string): boolean {
  if (text.length === 0 || text.length > 15) return false;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code < 0x30 || code > 0x39) return false;
  }
  return true;
}
