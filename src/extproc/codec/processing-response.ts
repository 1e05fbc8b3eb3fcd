import type { BodyPieces } from '../../core/body-pieces.ts';
import type { HeaderPair, LocalResponse } from '../../core/http.ts';
import type { Mutation } from '../../core/mutation.ts';
import { structSize, writeStruct } from './struct-writer.ts';
import { fieldSize, passedBytes, varintSize, WireWriter } from './wire-writer.ts';

type Metadata = Mutation['metadata'];

/** What happens to a body: `whole` replaces a buffered one, `piece` is the next of a full-duplex stream. */
export type BodyChange =
  | { readonly kind: 'whole'; readonly bytes: Uint8Array | BodyPieces }
  | { readonly kind: 'piece'; readonly bytes: Uint8Array; readonly end: boolean };

/** `CommonResponse`. `replace` is CONTINUE_AND_REPLACE. */
export interface PhaseChange {
  readonly replace?: boolean;
  readonly set?: readonly HeaderPair[];
  readonly remove?: readonly string[];
  readonly body?: BodyChange;
  readonly clearRouteCache?: boolean;
}

/** One `envoy.service.ext_proc.v3.ProcessingResponse`, as much of it as we use. Header values are latin1 or plainer. */
export type ProcessingResponse =
  | {
      readonly kind: 'request_headers' | 'response_headers' | 'request_body' | 'response_body';
      readonly change: PhaseChange;
      readonly metadata?: Metadata;
    }
  | { readonly kind: 'request_trailers' | 'response_trailers'; readonly metadata?: Metadata }
  | { readonly kind: 'immediate_response'; readonly response: LocalResponse; readonly metadata?: Metadata };

const FIELD = {
  request_headers: 1,
  response_headers: 2,
  request_body: 3,
  response_body: 4,
  request_trailers: 5,
  response_trailers: 6,
  immediate_response: 7,
} as const satisfies Record<ProcessingResponse['kind'], number>;

const METADATA = 0x42;
const bytesTag = (field: number): number => (field << 3) | 2;
const [F1, F2, F3, F5] = [bytesTag(1), bytesTag(2), bytesTag(3), bytesTag(5)] as const;
const VARINT_1 = 0x08;
const VARINT_2 = 0x10;
const VARINT_5 = 0x28;

/** Encodes one answer into one exact buffer. */
export function encodeProcessingResponse(message: ProcessingResponse): Buffer {
  const [first = NO_BYTES, ...more] = encodeInPieces(message);
  return more.length === 0 ? first : Buffer.concat([first, ...more]);
}

const NO_BYTES = Buffer.alloc(0);

/** Encodes one answer. A large body is not copied: it is a piece, or some, of its own, and must not change before they are sent. */
export function encodeInPieces(message: ProcessingResponse): readonly Buffer[] {
  const sizes: number[] = [];
  const partAt = sizes.push(0) - 1;
  const part = partSize(message, sizes);
  sizes[partAt] = part;
  let total = fieldSize(part);
  if (message.metadata !== undefined) {
    const at = sizes.push(0) - 1;
    const size = structSize(message.metadata, sizes);
    sizes[at] = size;
    total += fieldSize(size);
  }
  const out = new WireWriter(total - passedOf(message), sizes);
  out.open(bytesTag(FIELD[message.kind]));
  writePart(out, message);
  if (message.metadata !== undefined) {
    out.open(METADATA);
    writeStruct(out, message.metadata);
  }
  if (!out.full) throw new RangeError('the size of an answer was reckoned wrong');
  return out.pieces();
}

/** How much of an answer is not copied. */
function passedOf(message: ProcessingResponse): number {
  return 'change' in message && message.change.body !== undefined ? passedBytes(message.change.body.bytes.length) : 0;
}

function partSize(message: ProcessingResponse, sizes: number[]): number {
  switch (message.kind) {
    case 'immediate_response':
      return immediateSize(message.response, sizes);
    case 'request_trailers':
    case 'response_trailers':
      return 0;
    case 'request_headers':
    case 'response_headers':
    case 'request_body':
    case 'response_body': {
      const at = sizes.push(0) - 1;
      const size = changeSize(message.change, sizes);
      sizes[at] = size;
      return fieldSize(size);
    }
  }
}

function writePart(out: WireWriter, message: ProcessingResponse): void {
  switch (message.kind) {
    case 'immediate_response':
      writeImmediate(out, message.response);
      return;
    case 'request_trailers':
    case 'response_trailers':
      return;
    case 'request_headers':
    case 'response_headers':
    case 'request_body':
    case 'response_body':
      out.open(F1);
      writeChange(out, message.change);
  }
}

function changeSize(change: PhaseChange, sizes: number[]): number {
  let total = change.replace === true ? 2 : 0;
  if (hasHeaders(change)) {
    const at = sizes.push(0) - 1;
    const size = mutationSize(change.set, change.remove);
    sizes[at] = size;
    total += fieldSize(size);
  }
  if (change.body !== undefined) {
    const size = bodySize(change.body);
    sizes.push(size);
    total += fieldSize(size);
  }
  return change.clearRouteCache === true ? total + 2 : total;
}

function writeChange(out: WireWriter, change: PhaseChange): void {
  if (change.replace === true) {
    out.byte(VARINT_1);
    out.byte(1);
  }
  if (hasHeaders(change)) {
    out.open(F2);
    writeMutation(out, change.set, change.remove);
  }
  if (change.body !== undefined) {
    out.open(F3);
    writeBody(out, change.body);
  }
  if (change.clearRouteCache === true) {
    out.byte(VARINT_5);
    out.byte(1);
  }
}

function hasHeaders(change: PhaseChange): boolean {
  return (change.set?.length ?? 0) > 0 || (change.remove?.length ?? 0) > 0;
}

function mutationSize(set: readonly HeaderPair[] | undefined, remove: readonly string[] | undefined): number {
  let total = 0;
  for (const pair of set ?? []) total += fieldSize(fieldSize(headerSize(pair)));
  for (const name of remove ?? []) total += fieldSize(name.length);
  return total;
}

/** `HeaderValue` with `raw_value`: Envoy takes `value` for an empty header. */
function headerSize(pair: HeaderPair): number {
  return fieldSize(pair[0].length) + fieldSize(pair[1].length);
}

function writeMutation(
  out: WireWriter,
  set: readonly HeaderPair[] | undefined,
  remove: readonly string[] | undefined,
): void {
  for (const pair of set ?? []) {
    const size = headerSize(pair);
    out.byte(F1);
    out.varint(fieldSize(size));
    out.byte(F1);
    out.varint(size);
    out.latin1(F1, pair[0]);
    out.latin1(F3, pair[1]);
  }
  for (const name of remove ?? []) out.latin1(F2, name);
}

function bodySize(body: BodyChange): number {
  return body.kind === 'whole' ? fieldSize(body.bytes.length) : fieldSize(pieceSize(body.bytes, body.end));
}

function pieceSize(bytes: Uint8Array, end: boolean): number {
  return (bytes.length > 0 ? fieldSize(bytes.length) : 0) + (end ? 2 : 0);
}

function writeBody(out: WireWriter, body: BodyChange): void {
  if (body.kind === 'whole') {
    out.body(F1, body.bytes);
    return;
  }
  out.byte(F3);
  out.varint(pieceSize(body.bytes, body.end));
  if (body.bytes.length > 0) out.body(F1, body.bytes);
  if (body.end) {
    out.byte(VARINT_2);
    out.byte(1);
  }
}

function immediateSize(response: LocalResponse, sizes: number[]): number {
  let total = fieldSize(1 + varintSize(response.status));
  if (response.headers.length > 0) {
    const size = mutationSize(response.headers, undefined);
    sizes.push(size);
    total += fieldSize(size);
  }
  if (response.body.length > 0) total += fieldSize(response.body.length);
  const details = Buffer.byteLength(response.details);
  sizes.push(details);
  return total + fieldSize(details);
}

function writeImmediate(out: WireWriter, response: LocalResponse): void {
  out.byte(F1);
  out.varint(1 + varintSize(response.status));
  out.byte(VARINT_1);
  out.varint(response.status);
  if (response.headers.length > 0) {
    out.open(F2);
    writeMutation(out, response.headers, undefined);
  }
  if (response.body.length > 0) out.bytes(F3, response.body);
  out.utf8(F5, response.details);
}
