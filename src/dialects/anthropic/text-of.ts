import { type JsonObject, own } from '../../core/json.ts';

/** An object's own member where it is a string; else the empty one. */
export function textOf(object: JsonObject, name: string): string {
  const value = own(object, name);
  return typeof value === 'string' ? value : '';
}
