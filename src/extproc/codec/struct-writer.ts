import type { Json, JsonObject } from '../../core/json.ts';
import { fieldSize, type WireWriter } from './wire-writer.ts';

const VALUE_NULL = 0x08;
const VALUE_NUMBER = 0x11;
const VALUE_STRING = 0x1a;
const VALUE_BOOL = 0x20;
const VALUE_STRUCT = 0x2a;
const VALUE_LIST = 0x32;
const FIRST = 0x0a;
const SECOND = 0x12;

/**
 * Bytes of a `google.protobuf.Struct`. Every sub-message and text pushes its size, before those inside it, for the writer.
 */
export function structSize(object: JsonObject, sizes: number[]): number {
  let total = 0;
  for (const key in object) {
    if (!Object.hasOwn(object, key)) continue;
    const entryAt = sizes.push(0) - 1;
    const keySize = Buffer.byteLength(key);
    sizes.push(keySize);
    const valueAt = sizes.push(0) - 1;
    const inner = valueSize(object[key] ?? null, sizes);
    sizes[valueAt] = inner;
    const entry = fieldSize(keySize) + fieldSize(inner);
    sizes[entryAt] = entry;
    total += fieldSize(entry);
  }
  return total;
}

function valueSize(value: Json, sizes: number[]): number {
  if (value === null || typeof value === 'boolean') return 2;
  if (typeof value === 'number') return 9;
  const at = sizes.push(0) - 1;
  const size =
    typeof value === 'string'
      ? Buffer.byteLength(value)
      : isList(value)
        ? listSize(value, sizes)
        : structSize(value, sizes);
  sizes[at] = size;
  return fieldSize(size);
}

function listSize(list: readonly Json[], sizes: number[]): number {
  let total = 0;
  for (const value of list) {
    const at = sizes.push(0) - 1;
    const size = valueSize(value, sizes);
    sizes[at] = size;
    total += fieldSize(size);
  }
  return total;
}

/** Writes what `structSize` has measured, in the same order. */
export function writeStruct(out: WireWriter, object: JsonObject): void {
  for (const key in object) {
    if (!Object.hasOwn(object, key)) continue;
    out.open(FIRST);
    out.utf8(FIRST, key);
    out.open(SECOND);
    writeValue(out, object[key] ?? null);
  }
}

function writeValue(out: WireWriter, value: Json): void {
  if (value === null) {
    out.byte(VALUE_NULL);
    out.byte(0);
  } else if (typeof value === 'boolean') {
    out.byte(VALUE_BOOL);
    out.byte(value ? 1 : 0);
  } else if (typeof value === 'number') {
    out.byte(VALUE_NUMBER);
    out.double(value);
  } else if (typeof value === 'string') {
    out.utf8(VALUE_STRING, value);
  } else if (isList(value)) {
    out.open(VALUE_LIST);
    for (const item of value) {
      out.open(FIRST);
      writeValue(out, item);
    }
  } else {
    out.open(VALUE_STRUCT);
    writeStruct(out, value);
  }
}

function isList(value: object): value is readonly Json[] {
  return Array.isArray(value);
}
