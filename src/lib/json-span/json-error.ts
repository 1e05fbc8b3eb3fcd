/** `encoding`: not UTF-8, a byte order mark, or half of a surrogate pair as an escape. */
export type JsonFault = 'syntax' | 'encoding' | 'depth' | 'keys' | 'duplicate-key';

/** Why a text is no JSON that we take. The message never holds any of the text. */
export class JsonError extends Error {
  readonly fault: JsonFault;
  /** Byte of the text at which it was seen; null where the engine's parser alone knows. */
  readonly position: number | null;
  /** The second of two equal keys, as `messages[0].content`; null for the other faults. */
  readonly path: string | null;

  constructor(fault: JsonFault, message: string, position: number | null = null, path: string | null = null) {
    super(message);
    this.name = 'JsonError';
    this.fault = fault;
    this.position = position;
    this.path = path;
  }
}
