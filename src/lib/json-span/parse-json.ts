import { isAscii, isUtf8 } from 'node:buffer';
import { areEscapesSound } from './check-escapes.ts';
import { JsonError } from './json-error.ts';
import { type JsonScan, scanJson, type ScanOptions } from './scan-json.ts';

/** A checked text: the value, and where its members or elements stand. */
export interface ParsedJson extends JsonScan {
  /** As `JSON.parse` gives it: `__proto__` is an own key like any other. */
  readonly value: unknown;
}

/**
 * Parses a JSON text in bytes by the book: UTF-8 and nothing else, no byte order mark, no half surrogate pair in an escape,
 * no more levels than `maxDepth`, on wish no key twice. What it takes means the same to every reader. Throws `JsonError`.
 */
export function parseJson(body: Buffer, options: ScanOptions): ParsedJson {
  const ascii = checkEncoding(body);
  const latin1 = body.toString('latin1', 0, body.length);
  const scan = scanJson(body, options, latin1);
  areEscapesSound(body, latin1);
  return { ...scan, value: readJson(ascii ? latin1 : body.toString('utf8', 0, body.length)) };
}

/** Is it all ASCII? Throws `JsonError` for what is not UTF-8, or begins with a byte order mark. */
export function checkEncoding(body: Buffer): boolean {
  if (isAscii(body)) return true;
  if (!isUtf8(body)) throw new JsonError('encoding', 'The text is not valid UTF-8.');
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) {
    throw new JsonError('encoding', 'The text starts with a byte order mark.', 0);
  }
  return false;
}

/** `JSON.parse` that throws `JsonError`. */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The engine's message quotes the text, which may hold what nobody else should read.
    throw invalidJson();
  }
}

export function invalidJson(): JsonError {
  return new JsonError('syntax', 'The text is not valid JSON.');
}
