import type { Json } from '../../core/json.ts';

/** Is this a JSON object? */
export function isRecord(value: unknown): value is { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
