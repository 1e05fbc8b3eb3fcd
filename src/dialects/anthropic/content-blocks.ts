import { isArray, isObject, type Json, type JsonObject, own } from '../../core/json.ts';
import { cacheControl } from './cache-control.ts';
import { type JsonText, objectText, valueText } from './json-text.ts';
import { documentSource, imageSource } from './media-source.ts';
import { invalid, unsupported } from './refuse.ts';

/** What may stand in a content. */
export interface ContentRules {
  /** Pictures and documents. */
  readonly media: boolean;
  /** Parts of the type `refusal`, which an answer may have. */
  readonly refusals: boolean;
}

const NOWHERE = 'the model service has no place for it';

/** A message's content as blocks, in order; none for null, and none for texts of white space alone. Throws `GatewayError`. */
export function contentBlocks(content: Json, rules: ContentRules, param: string): JsonText[] {
  if (content === null) return [];
  if (typeof content === 'string') return textBlock(content, null);
  if (!isArray(content)) throw invalid(param, 'a string, an array or null');
  return content.flatMap((part, at) => partBlocks(part, rules, `${param}[${at}]`));
}

function partBlocks(part: Json, rules: ContentRules, param: string): JsonText[] {
  if (typeof part === 'string') return textBlock(part, null);
  if (!isObject(part)) throw invalid(param, 'an object');
  const type = own(part, 'type');
  if (type === 'text' || (type === 'refusal' && rules.refusals)) {
    refuseOthers(part, type, param);
    const text = own(part, type);
    if (typeof text !== 'string') throw invalid(`${param}.${type}`, 'a string');
    return textBlock(text, cacheControl(part));
  }
  if (!rules.media) throw unsupported(`${param}.type`, 'only text may stand here');
  if (type === 'image_url') {
    refuseOthers(part, type, param);
    return [mediaBlock('image', imageSource(own(part, type), `${param}.${type}`), part)];
  }
  if (type === 'file') {
    refuseOthers(part, type, param);
    const { source, title } = documentSource(own(part, type), `${param}.${type}`);
    return [mediaBlock('document', source, part, title)];
  }
  throw unsupported(`${param}.type`, NOWHERE);
}

function textBlock(text: string, cache: JsonText | null): JsonText[] {
  if (text.trim() === '') return [];
  return [objectText({ type: '"text"', text: valueText(text), cache_control: cache })];
}

function mediaBlock(type: string, source: JsonText, part: JsonObject, title: JsonText | null = null): JsonText {
  return objectText({ type: valueText(type), source, title, cache_control: cacheControl(part) });
}

function refuseOthers(part: JsonObject, type: string, param: string): void {
  for (const name of Object.keys(part)) {
    if (name === 'type' || name === type || name === 'cache_control' || own(part, name) === null) continue;
    throw unsupported(`${param}.${name}`, NOWHERE);
  }
}
