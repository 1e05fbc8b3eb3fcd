import type { Json } from '../core/json.ts';

/** Does this value of a field ask for nothing, so that a protocol without the field loses nothing? */
export type Neutral = (value: Json) => boolean;

export const only =
  (...values: readonly Json[]): Neutral =>
  (value) =>
    values.includes(value);

export const never: Neutral = () => false;

export const empty: Neutral = (value) =>
  typeof value === 'object' && value !== null && (Array.isArray(value) ? value : Object.keys(value)).length === 0;

export const textOnly: Neutral = (value) => Array.isArray(value) && value.every((one) => one === 'text');

/** `include_usage` is answered from what the server tells or from an estimate; the other switches change the stream. */
export const usageOnly: Neutral = (value) =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  Object.entries(value).every(([name, on]) => name === 'include_usage' || on === false || on === null);
