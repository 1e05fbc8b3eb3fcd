import type { ChatRequest, Endpoint, TextPart } from '../../core/chat-request.ts';
import type { JsonLimits } from '../../core/dialect.ts';
import { type ErrorCode, GatewayError } from '../../core/error.ts';
import type { RequestHead } from '../../core/http.ts';
import { isObject, type Json, type JsonObject } from '../../core/json.ts';
import { JsonError, type JsonFault } from '../../lib/json-span/json-error.ts';
import { type LazyJson, parseLazily } from '../../lib/json-span/parse-lazily.ts';
import { estimateTokens } from '../../lib/token-estimate/estimate-tokens.ts';
import { checkFields, member } from './check-fields.ts';
import { checkMessages } from './check-messages.ts';
import { checkPrompt, countPromptTokens } from './check-prompt.ts';
import { chatTexts, plainTexts } from './collect-texts.ts';
import { LongText } from './long-text.ts';

const FAULTS: Readonly<Record<JsonFault, ErrorCode>> = {
  syntax: 'invalid_json',
  encoding: 'invalid_encoding',
  depth: 'json_too_deep',
  keys: 'json_too_many_keys',
  'duplicate-key': 'duplicate_key',
};
/** What a chat template puts around each message, and what opens the answer (OpenAI's cookbook on counting tokens). */
const TOKENS_A_MESSAGE = 4;
const TOKENS_TO_ANSWER = 3;
/** A picture of low or middle size; no text tells how large one is. */
const TOKENS_AN_IMAGE = 765;

/**
 * A client's request, checked. Throws `GatewayError` with `param`; no message quotes the body. Its long strings are decoded when
 * somebody reads them: the checks want to know only that they are strings.
 */
export function parseRequest(head: RequestHead, body: Buffer, limits: JsonLimits): ChatRequest {
  checkContentType(head);
  const endpoint = endpointOf(head.path);
  const { json, spans, longStrings } = readBody(body, limits);
  checkFields(json);
  if (endpoint === 'chat') checkMessages(json);
  else checkPrompt(json, endpoint === 'completions' ? 'prompt' : 'input');
  const texts =
    endpoint === 'chat' ? chatTexts(json, longStrings) : plainTexts(json, longStrings, ['prompt', 'suffix', 'input']);
  const tokens = promptTokens(endpoint, json, texts);
  longStrings.fill();
  const options = member(json, 'stream_options');
  const stream = endpoint !== 'embeddings' && member(json, 'stream') === true;
  return {
    endpoint,
    raw: body,
    json,
    spans,
    model: json['model'] as string,
    stream,
    includeUsage: stream && isObject(options) && member(options, 'include_usage') === true,
    maxOutputTokens: largest(json, 'max_tokens', 'max_completion_tokens'),
    // `best_of` answers are made, and paid for, though fewer are shown.
    n: largest(json, 'n', 'best_of') ?? 1,
    texts,
    promptTokens: tokens,
  };
}

function checkContentType({ headers }: RequestHead): void {
  const value = headers.get('content-type');
  if (value === undefined || value.trim() === '') return;
  const [type = '', ...params] = value.toLowerCase().split(';');
  const essence = type.trim();
  const json = essence === 'application/json' || essence === 'text/json' || essence.endsWith('+json');
  const charset = params.map((param) => param.trim()).find((param) => param.startsWith('charset='));
  const utf8 = charset === undefined || ['utf-8', 'utf8', 'us-ascii'].includes(charset.slice(8).replaceAll('"', ''));
  if (json && utf8) return;
  const message = 'The body must be JSON in UTF-8, and the header content-type must say so: application/json.';
  throw new GatewayError('unsupported_media_type', message, { param: 'content-type' });
}

function endpointOf(path: string): Endpoint {
  const [plain = ''] = path.split('?', 1);
  if (plain.endsWith('/chat/completions')) return 'chat';
  if (plain.endsWith('/completions')) return 'completions';
  if (plain.endsWith('/embeddings')) return 'embeddings';
  throw new GatewayError('unknown_endpoint', 'There is no such endpoint.');
}

function readBody(
  body: Buffer,
  { jsonDepth, jsonKeys }: JsonLimits,
): { json: JsonObject; spans: LazyJson['members']; longStrings: LazyJson['longStrings'] } {
  try {
    const { value, members, longStrings } = parseLazily(body, { maxDepth: jsonDepth, maxKeys: jsonKeys });
    if (!isObject(value)) throw new GatewayError('invalid_json', 'The body must be a JSON object.');
    return { json: value, spans: members, longStrings };
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw new GatewayError(FAULTS[error.fault], error.message, { param: error.path?.slice(0, 256) ?? null });
  }
}

function largest(json: JsonObject, ...keys: readonly string[]): number | null {
  const values = keys.map((key) => member(json, key)).filter((value) => typeof value === 'number');
  return values.length === 0 ? null : Math.max(...values);
}

function promptTokens(endpoint: Endpoint, json: JsonObject, texts: readonly TextPart[]): number {
  let tokens = 0;
  for (const part of texts) tokens += part instanceof LongText ? part.tokens() : estimateTokens(part.text);
  if (endpoint !== 'chat') return tokens + countPromptTokens(json['prompt']) + countPromptTokens(json['input']);
  const messages = json['messages'] as readonly JsonObject[];
  tokens += TOKENS_TO_ANSWER + messages.length * TOKENS_A_MESSAGE;
  for (const { content } of messages as readonly { readonly content?: Json }[]) {
    if (!Array.isArray(content)) continue;
    const images = (content as readonly Json[]).filter((part) => isObject(part) && part['image_url'] !== undefined);
    tokens += images.length * TOKENS_AN_IMAGE;
  }
  return tokens;
}
