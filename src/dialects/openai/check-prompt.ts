import type { Json, JsonObject } from '../../core/json.ts';
import { invalid, member, missing } from './check-fields.ts';

const RULE = 'a string, or a non-empty array of strings, of token ids or of arrays of token ids';

/** Throws unless `prompt` or `input` is text or token ids, one or many. */
export function checkPrompt(json: JsonObject, key: 'prompt' | 'input'): void {
  const value = member(json, key);
  if (value === undefined) throw missing(key);
  if (typeof value === 'string') return;
  if (!Array.isArray(value) || value.length === 0) throw invalid(key, RULE);
  const items = value as readonly Json[];
  const fits = isToken(items[0] ?? null) ? isToken : Array.isArray(items[0]) ? isTokens : isString;
  const wrong = items.findIndex((item) => !fits(item));
  if (wrong !== -1) throw invalid(`${key}[${wrong}]`, 'of the same kind as the items before it, a string or token ids');
}

/** How many token ids a prompt holds. */
export function countPromptTokens(value: Json | undefined): number {
  if (!Array.isArray(value)) return 0;
  let tokens = 0;
  for (const item of value as readonly Json[]) {
    if (typeof item === 'number') tokens += 1;
    else if (Array.isArray(item)) tokens += item.length;
  }
  return tokens;
}

function isString(value: Json): boolean {
  return typeof value === 'string';
}

function isToken(value: Json): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isTokens(value: Json): boolean {
  return Array.isArray(value) && value.length > 0 && value.every((item) => isToken(item as Json));
}
