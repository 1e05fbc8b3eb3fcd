import type { HeaderField } from '../../lib/hpack/header-field.ts';

/** The fields of a request. */
export interface RequestHead {
  readonly method: string;
  readonly path: string;
  /** A field's first value, or an empty text. */
  readonly field: (name: string) => string;
}

/** Fields that speak of an HTTP/1 connection: RFC 9113, section 8.2.2. */
const CONNECTION_FIELDS: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);

class Fields implements RequestHead {
  readonly method: string;
  readonly path: string;
  readonly #fields: readonly HeaderField[];

  constructor(method: string, path: string, fields: readonly HeaderField[]) {
    this.method = method;
    this.path = path;
    this.#fields = fields;
  }

  field(name: string): string {
    for (const field of this.#fields) if (field.name === name) return field.value;
    return '';
  }
}

/** Reads a request's fields by RFC 9113, section 8.3.1. Null when they are malformed. CONNECT is not served. */
export function readRequestHead(fields: readonly HeaderField[]): RequestHead | null {
  let method = '';
  let path = '';
  let scheme = '';
  let authority: string | null = null;
  let regular = 0;
  for (const field of fields) {
    const { name, value } = field;
    if (!field.isSound) return null;
    if (name.charCodeAt(0) !== 58) {
      regular += 1;
      if (!isAllowed(name, value)) return null;
      continue;
    }
    if (regular > 0) return null;
    if (name === ':method' && method === '') method = value;
    else if (name === ':path' && path === '') path = value;
    else if (name === ':scheme' && scheme === '') scheme = value;
    else if (name === ':authority' && authority === null) authority = value;
    else return null;
  }
  return method === '' || path === '' || scheme === '' ? null : new Fields(method, path, fields);
}

/** Are these fields that may come after a body? */
export function areTrailers(fields: readonly HeaderField[]): boolean {
  return fields.every(({ isSound, name, value }) => isSound && name.charCodeAt(0) !== 58 && isAllowed(name, value));
}

function isAllowed(name: string, value: string): boolean {
  return name === 'te' ? value === 'trailers' : !CONNECTION_FIELDS.has(name);
}
