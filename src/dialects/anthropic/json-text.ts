import type { Json } from '../../core/json.ts';
import { applyEdits } from '../../lib/json-span/apply-edits.ts';
import { elementSpans, memberSpans } from '../../lib/json-span/find-span.ts';
import type { ByteSpan } from '../../lib/json-span/scan-json.ts';

/** Text of a whole JSON value. Put together, never parsed: digits of numbers and order of keys stay as they were written. */
export type JsonText = string;

/** An object of these members; those that are null are left out. */
export function objectText(members: Readonly<Record<string, JsonText | null>>): JsonText {
  const parts: string[] = [];
  for (const [name, text] of Object.entries(members)) {
    if (text !== null) parts.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${parts.join(',')}}`;
}

/** An array of these elements. */
export function arrayText(elements: readonly JsonText[]): JsonText {
  return `[${elements.join(',')}]`;
}

/** A value whose bytes nobody wrote before us, or hold no number. */
export function valueText(value: Json): JsonText {
  return JSON.stringify(value);
}

/** The text of an object with one member more; the member must not be there yet. */
export function withMember(object: JsonText, key: string, value: JsonText): JsonText {
  const bytes = Buffer.from(object);
  const edit = { kind: 'insert', object: { start: 0, end: bytes.length }, key, json: Buffer.from(value) } as const;
  return applyEdits(bytes, [edit]).toString('utf8');
}

/**
 * A value of a JSON text and the way into it, by spans: what is taken out of it keeps its bytes. Each step scans the value
 * it goes into once.
 */
export class JsonSource {
  readonly #bytes: Buffer;
  readonly #span: ByteSpan;

  constructor(bytes: Buffer, span: ByteSpan = { start: 0, end: bytes.length }) {
    this.#bytes = bytes;
    this.#span = span;
  }

  /** The value's own text. */
  get text(): JsonText {
    return this.#bytes.toString('utf8', this.#span.start, this.#span.end);
  }

  /** Members of an object, by name. */
  members(): ReadonlyMap<string, JsonSource> {
    const spans = memberSpans(this.#value(), this.#whole());
    return new Map([...spans].map(([name, span]) => [name, this.#at(span)]));
  }

  /** Elements of an array, in order. */
  elements(): readonly JsonSource[] {
    return elementSpans(this.#value(), this.#whole()).map((span) => this.#at(span));
  }

  #value(): Buffer {
    return this.#bytes.subarray(this.#span.start, this.#span.end);
  }

  #whole(): ByteSpan {
    return { start: 0, end: this.#span.end - this.#span.start };
  }

  #at({ start, end }: ByteSpan): JsonSource {
    return new JsonSource(this.#bytes, { start: this.#span.start + start, end: this.#span.start + end });
  }
}
