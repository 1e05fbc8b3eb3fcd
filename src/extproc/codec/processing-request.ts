import type { Attributes, HeaderPair } from '../../core/http.ts';
import type { Json } from '../../core/json.ts';
import { MalformedMessage } from './malformed-message.ts';
import { readStruct } from './struct-reader.ts';
import { BYTES, VARINT, WireReader } from './wire-reader.ts';

/** The `request` oneof by field number. `none`: empty, or a case that we do not know (flow control), which gets no answer. */
export type MessageKind =
  | 'none'
  | 'request_headers'
  | 'response_headers'
  | 'request_body'
  | 'response_body'
  | 'request_trailers'
  | 'response_trailers';

const KINDS: readonly (MessageKind | undefined)[] = [
  undefined,
  undefined,
  'request_headers',
  'response_headers',
  'request_body',
  'response_body',
  'request_trailers',
  'response_trailers',
];

/** `ProcessingMode.BodySendMode` by number. */
export const BODY_MODES = ['NONE', 'STREAMED', 'BUFFERED', 'BUFFERED_PARTIAL', 'FULL_DUPLEX_STREAMED', 'GRPC'] as const;
export type BodyMode = (typeof BODY_MODES)[number] | 'UNKNOWN';

/** How Envoy is configured to speak on this stream; told in the first message only. */
export interface ProtocolConfig {
  readonly requestBody: BodyMode;
  readonly responseBody: BodyMode;
  /** `send_body_without_waiting_for_header_response`. */
  readonly eagerBody: boolean;
}

const NO_HEADERS: readonly HeaderPair[] = [];
const NO_BYTES = Buffer.alloc(0);
const FILTER_ATTRIBUTES = 'envoy.filters.http.ext_proc';

const field = (number: number, type: number): number => (number << 3) | type;

/**
 * One `envoy.service.ext_proc.v3.ProcessingRequest`. Headers are read at once, since every session wants them; attributes
 * and metadata stay bytes until somebody asks.
 */
export class ProcessingRequest {
  kind: MessageKind = 'none';
  headers: readonly HeaderPair[] = NO_HEADERS;
  /** A view into the received message. */
  body: Buffer = NO_BYTES;
  endOfStream = false;
  protocol: ProtocolConfig | null = null;
  readonly rawAttributes: Buffer[] = [];
  rawMetadata: Buffer | null = null;

  /** The filter's attributes as text. Throws `MalformedMessage`. */
  attributes(): Attributes {
    const found: Record<string, string> = Object.create(null) as Record<string, string>;
    for (const entry of this.rawAttributes) {
      const [name, struct] = readNamedStruct(entry);
      if (name !== FILTER_ATTRIBUTES) continue;
      for (const [key, value] of Object.entries(struct)) {
        if (typeof value === 'string') found[key] = value;
        else if (typeof value === 'number' || typeof value === 'boolean') found[key] = String(value);
      }
    }
    return found;
  }

  /** One namespace of the metadata that Envoy forwards. Throws `MalformedMessage`. */
  metadata(namespace: string): { readonly [key: string]: Json } | undefined {
    if (this.rawMetadata === null) return undefined;
    const reader = new WireReader(this.rawMetadata);
    let found: { readonly [key: string]: Json } | undefined;
    while (reader.more) {
      const tag = reader.tag();
      if (tag !== field(1, BYTES)) {
        reader.skip(tag);
        continue;
      }
      const [name, struct] = readNamedStruct(reader.bytes());
      if (name === namespace) found = struct;
    }
    return found;
  }
}

/** Decodes one message. Throws `MalformedMessage`; unknown fields are passed over. */
export function decodeProcessingRequest(bytes: Buffer): ProcessingRequest {
  const message = new ProcessingRequest();
  const reader = new WireReader(bytes);
  while (reader.more) {
    const tag = reader.tag();
    const kind = (tag & 7) === BYTES ? KINDS[tag >>> 3] : undefined;
    if (kind !== undefined) {
      const outer = reader.enter();
      readPart(reader, message, kind);
      reader.leave(outer);
    } else if (tag === field(8, BYTES)) message.rawMetadata = reader.bytes();
    else if (tag === field(9, BYTES)) message.rawAttributes.push(reader.bytes());
    else if (tag === field(11, BYTES)) message.protocol = readProtocol(reader);
    else reader.skip(tag);
  }
  return message;
}

/** The same for gRPC, which has one status for all that throws: a fault becomes a value that the session answers rightly. */
export function deserializeProcessingRequest(bytes: Buffer): ProcessingRequest | MalformedMessage {
  try {
    return decodeProcessingRequest(bytes);
  } catch (reason) {
    return reason instanceof MalformedMessage ? reason : new MalformedMessage('the message could not be read');
  }
}

/** A later member of the oneof replaces an earlier one. */
function readPart(reader: WireReader, message: ProcessingRequest, kind: MessageKind): void {
  message.kind = kind;
  message.headers = NO_HEADERS;
  message.body = NO_BYTES;
  message.endOfStream = false;
  switch (kind) {
    case 'request_headers':
    case 'response_headers':
      readHeaders(reader, message, true);
      return;
    case 'request_body':
    case 'response_body':
      readBody(reader, message);
      return;
    case 'request_trailers':
    case 'response_trailers':
      readHeaders(reader, message, false);
      return;
    case 'none':
      return;
  }
}

/** `HttpHeaders` (headers 1, end_of_stream 3) or `HttpTrailers` (trailers 1). */
function readHeaders(reader: WireReader, message: ProcessingRequest, withEnd: boolean): void {
  while (reader.more) {
    const tag = reader.tag();
    if (tag === field(1, BYTES)) {
      const outer = reader.enter();
      message.headers = readHeaderMap(reader);
      reader.leave(outer);
    } else if (withEnd && tag === field(3, VARINT)) message.endOfStream = reader.bool();
    else reader.skip(tag);
  }
}

function readHeaderMap(reader: WireReader): readonly HeaderPair[] {
  const pairs: HeaderPair[] = [];
  const from = reader.position;
  const all = reader.text();
  while (reader.more) {
    const tag = reader.tag();
    if (tag !== field(1, BYTES)) {
      reader.skip(tag);
      continue;
    }
    const outer = reader.enter();
    pairs.push(readHeader(reader, all, from));
    reader.leave(outer);
  }
  return pairs;
}

/** `HeaderValue`: key 1, value 2, raw_value 3. Envoy fills one of the two values; raw bytes win. */
function readHeader(reader: WireReader, all: string, from: number): HeaderPair {
  let key = '';
  let text = '';
  let raw: string | null = null;
  while (reader.more) {
    const tag = reader.tag();
    if (tag === field(1, BYTES)) key = reader.slice(all, from);
    else if (tag === field(3, BYTES)) raw = reader.slice(all, from);
    else if (tag === field(2, BYTES)) text = reader.slice(all, from);
    else reader.skip(tag);
  }
  return [key, raw === null || raw === '' ? text : raw];
}

function readBody(reader: WireReader, message: ProcessingRequest): void {
  while (reader.more) {
    const tag = reader.tag();
    if (tag === field(1, BYTES)) message.body = reader.bytes();
    else if (tag === field(2, VARINT)) message.endOfStream = reader.bool();
    else reader.skip(tag);
  }
}

function readProtocol(reader: WireReader): ProtocolConfig {
  const outer = reader.enter();
  let requestBody: BodyMode = 'NONE';
  let responseBody: BodyMode = 'NONE';
  let eagerBody = false;
  while (reader.more) {
    const tag = reader.tag();
    if (tag === field(1, VARINT)) requestBody = BODY_MODES[reader.uint32()] ?? 'UNKNOWN';
    else if (tag === field(2, VARINT)) responseBody = BODY_MODES[reader.uint32()] ?? 'UNKNOWN';
    else if (tag === field(3, VARINT)) eagerBody = reader.bool();
    else reader.skip(tag);
  }
  reader.leave(outer);
  return { requestBody, responseBody, eagerBody };
}

/** An entry of `map<string, google.protobuf.Struct>`. */
function readNamedStruct(entry: Buffer): readonly [string, { readonly [key: string]: Json }] {
  const reader = new WireReader(entry);
  let name = '';
  let struct: { readonly [key: string]: Json } = {};
  while (reader.more) {
    const tag = reader.tag();
    if (tag === field(1, BYTES)) name = reader.utf8();
    else if (tag === field(2, BYTES)) {
      const outer = reader.enter();
      struct = readStruct(reader);
      reader.leave(outer);
    } else reader.skip(tag);
  }
  return [name, struct];
}
