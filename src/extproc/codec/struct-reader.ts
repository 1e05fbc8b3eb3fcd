import type { Json, JsonObject } from '../../core/json.ts';
import { MalformedMessage } from './malformed-message.ts';
import { BYTES, VARINT, type WireReader } from './wire-reader.ts';

/** Deeper than any attribute or metadata that Envoy sends, shallower than our stack. */
const MAX_DEPTH = 64;

/** Reads a `google.protobuf.Struct` up to the reader's end. Own keys only: `__proto__` is a key like any other. */
export function readStruct(reader: WireReader, depth = 0): JsonObject {
  if (depth > MAX_DEPTH) throw new MalformedMessage('a struct is nested too deep');
  const object: Record<string, Json> = Object.create(null) as Record<string, Json>;
  while (reader.more) {
    const tag = reader.tag();
    if (tag !== ((1 << 3) | BYTES)) {
      reader.skip(tag);
      continue;
    }
    const outer = reader.enter();
    let key = '';
    let value: Json = null;
    while (reader.more) {
      const inner = reader.tag();
      if (inner === ((1 << 3) | BYTES)) key = reader.utf8();
      else if (inner === ((2 << 3) | BYTES)) value = readNested(reader, depth);
      else reader.skip(inner);
    }
    reader.leave(outer);
    object[key] = value;
  }
  return object;
}

function readNested(reader: WireReader, depth: number): Json {
  const outer = reader.enter();
  const value = readValue(reader, depth + 1);
  reader.leave(outer);
  return value;
}

function readValue(reader: WireReader, depth: number): Json {
  let value: Json = null;
  while (reader.more) {
    const tag = reader.tag();
    switch (tag) {
      case (1 << 3) | VARINT:
        reader.uint32();
        value = null;
        break;
      case (2 << 3) | 1:
        value = reader.double();
        break;
      case (3 << 3) | BYTES:
        value = reader.utf8();
        break;
      case (4 << 3) | VARINT:
        value = reader.bool();
        break;
      case (5 << 3) | BYTES: {
        const outer = reader.enter();
        value = readStruct(reader, depth);
        reader.leave(outer);
        break;
      }
      case (6 << 3) | BYTES: {
        const outer = reader.enter();
        value = readList(reader, depth);
        reader.leave(outer);
        break;
      }
      default:
        reader.skip(tag);
    }
  }
  return value;
}

function readList(reader: WireReader, depth: number): readonly Json[] {
  if (depth > MAX_DEPTH) throw new MalformedMessage('a list is nested too deep');
  const list: Json[] = [];
  while (reader.more) {
    const tag = reader.tag();
    if (tag === ((1 << 3) | BYTES)) list.push(readNested(reader, depth));
    else reader.skip(tag);
  }
  return list;
}
