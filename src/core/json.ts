/** A JSON value as `JSON.parse` gives it. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

/** A JSON object. What comes from outside is read by own keys only: `own`, `memberOf`. */
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

/** An object's own member; undefined when it is absent. */
export function memberOf(object: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}
