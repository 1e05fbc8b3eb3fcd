import { GatewayError } from '../../core/error.ts';
import { isArray, isObject, type Json, type JsonObject, own } from '../../core/json.ts';
import { toldError } from './upstream-error.ts';

/** Token counts that a server told; what it left out is null. */
export interface ToldUsage {
  readonly prompt: number | null;
  readonly completion: number | null;
}

/** One JSON object of an answer or stream, understood. */
export interface Reading {
  /** Texts of the choices, whole so far; from `text`, which repeats the prompt, or `generated_text`, which does not. */
  readonly texts: readonly string[];
  readonly repeatsPrompt: boolean;
  /** The next piece, from servers that stream token by token; null when this record has none. */
  readonly piece: string | null;
  /** By choice; null = not finished, or not told. */
  readonly finish: readonly (string | null)[];
  /** Does this server mark the end of an answer at all? Then a stream without the mark was cut. */
  readonly tellsFinish: boolean;
  /** The mark, where it is not a finish reason: a whole text after the pieces. */
  readonly ended: boolean;
  readonly usage: ToldUsage | null;
}

/** Reads the JSON of one record. Throws `GatewayError`: what the server reported, or `upstream_invalid_response`. */
export function readRecord(bytes: Buffer): Reading {
  let json: Json;
  try {
    json = JSON.parse(bytes.toString('utf8')) as Json;
  } catch (cause) {
    throw unreadable(bytes, cause);
  }
  // Some servers wrap the only answer in a list.
  const record = isArray(json) && json.length === 1 ? json[0] : json;
  if (!isObject(record)) throw unreadable(bytes, undefined);
  const error = toldError(record);
  if (error !== null) throw error;
  const reading: Reading = { ...readTexts(record), ...readFinish(record), usage: readUsage(record) };
  if (reading.texts.length === 0 && reading.piece === null && reading.usage === null && !reading.tellsFinish) {
    throw unreadable(bytes, undefined);
  }
  return reading;
}

function readTexts(record: JsonObject): Pick<Reading, 'texts' | 'repeatsPrompt' | 'piece' | 'ended'> {
  const text = own(record, 'text');
  const list = isArray(text) ? text.filter((one) => typeof one === 'string') : [];
  if (typeof text === 'string' || list.length > 0) {
    return { texts: typeof text === 'string' ? [text] : list, repeatsPrompt: true, piece: null, ended: false };
  }
  const whole = own(record, 'generated_text');
  const texts = typeof whole === 'string' ? [whole] : [];
  return { texts, repeatsPrompt: false, piece: readPiece(own(record, 'token')), ended: texts.length > 0 };
}

function readPiece(token: Json): string | null {
  if (!isObject(token)) return null;
  const text = own(token, 'text');
  return typeof text === 'string' && own(token, 'special') !== true ? text : '';
}

function readFinish(record: JsonObject): Pick<Reading, 'finish' | 'tellsFinish'> {
  for (const place of places(record)) {
    for (const name of ['finish_reason', 'finish_reasons']) {
      if (!Object.hasOwn(place, name)) continue;
      const value = own(place, name);
      return { finish: (isArray(value) ? value : [value]).map(finishReason), tellsFinish: true };
    }
  }
  return { finish: [], tellsFinish: isObject(own(record, 'token')) };
}

function finishReason(value: Json): string | null {
  const word = isObject(value) ? own(value, 'type') : value;
  if (typeof word !== 'string' || word === '') return null;
  if (word === 'length' || word === 'max_tokens') return 'length';
  if (word === 'content_filter') return word;
  if (word === 'abort' || word === 'error') {
    throw new GatewayError('upstream_stream_interrupted', 'The model service gave up on this answer.', {
      original: `finish_reason ${word}`,
    });
  }
  return 'stop';
}

function readUsage(record: JsonObject): ToldUsage | null {
  for (const place of places(record)) {
    const prompt = count(own(place, 'prompt_tokens')) ?? count(own(place, 'input_length'));
    const completion = count(own(place, 'completion_tokens')) ?? count(own(place, 'generated_tokens'));
    if (prompt !== null || completion !== null) return { prompt, completion };
  }
  return null;
}

/** Where servers of this school put what is not text. */
function places(record: JsonObject): JsonObject[] {
  return [record, own(record, 'usage'), own(record, 'details'), own(record, 'meta_info')].filter(isObject);
}

function count(value: Json): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

function unreadable(bytes: Buffer, cause: unknown): GatewayError {
  return new GatewayError('upstream_invalid_response', 'The model service gave an answer that cannot be read.', {
    original: bytes.toString('utf8', 0, 500),
    cause,
  });
}
