import type { Json } from '../../core/json.ts';

/** A JSON object, read by own keys only. */
export type JsonObject = { readonly [key: string]: Json };

/** Is this a JSON object? */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Is this a JSON array? */
export function isArray(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

/** An object's own member; null when it is absent. */
export function own(object: JsonObject, name: string): Json {
  return Object.hasOwn(object, name) ? (object[name] ?? null) : null;
}

/** An object's own member where it is a string; else the empty one. */
export function textOf(object: JsonObject, name: string): string {
  const value = own(object, name);
  return typeof value === 'string' ? value : '';
}
