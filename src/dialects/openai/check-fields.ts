import { GatewayError } from '../../core/error.ts';
import { isObject, type Json, type JsonObject } from '../../core/json.ts';

/** Above this a count is no longer a 32-bit number somewhere behind us. */
const MAX_COUNT = 2 ** 31 - 1;
const MAX_CHOICES = 128;
const MAX_MODEL = 256;
/** Counts that are allowed to be 0 or negative are none of these. */
const COUNTS = ['max_tokens', 'max_completion_tokens', 'dimensions'] as const;
const NUMBERS = ['temperature', 'top_p', 'presence_penalty', 'frequency_penalty'] as const;
const FLAGS = ['stream', 'echo', 'parallel_tool_calls'] as const;

/** A member of the body; null counts as absent, as OpenAI has it. */
export function member(json: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(json, key) && json[key] !== null ? json[key] : undefined;
}

export function invalid(param: string, rule: string): GatewayError {
  return new GatewayError('invalid_value', `\`${param}\` must be ${rule}.`, { param });
}

export function missing(param: string): GatewayError {
  return new GatewayError('missing_parameter', `\`${param}\` is required.`, { param });
}

/** Throws for a member that all endpoints share and that has the wrong type or is out of range. Unknown ones pass. */
export function checkFields(json: JsonObject): void {
  const model = member(json, 'model');
  if (model === undefined) throw missing('model');
  if (typeof model !== 'string' || model === '' || model.length > MAX_MODEL) {
    throw invalid('model', `a string of 1 to ${MAX_MODEL} characters`);
  }
  for (const key of FLAGS) check(json, key, isFlag, 'true or false');
  for (const key of NUMBERS) check(json, key, Number.isFinite, 'a number');
  for (const key of COUNTS) check(json, key, isCount, `a whole number from 1 to ${MAX_COUNT}`);
  for (const key of ['n', 'best_of']) check(json, key, isChoices, `a whole number from 1 to ${MAX_CHOICES}`);
  check(json, 'stop', isStop, 'a string or an array of strings');
  check(json, 'encoding_format', (value) => typeof value === 'string', 'a string');
  check(json, 'tools', isObjects, 'an array of objects');
  check(json, 'functions', isObjects, 'an array of objects');
  check(json, 'stream_options', isObject, 'an object');
  checkStreamOptions(json);
}

function checkStreamOptions(json: JsonObject): void {
  const options = member(json, 'stream_options');
  if (!isObject(options)) return;
  if (member(json, 'stream') !== true) {
    throw new GatewayError('invalid_value', '`stream_options` is allowed only when `stream` is true.', {
      param: 'stream_options',
    });
  }
  const include = member(options, 'include_usage');
  if (include !== undefined && !isFlag(include)) throw invalid('stream_options.include_usage', 'true or false');
}

function check(json: JsonObject, key: string, fits: (value: Json) => boolean, rule: string): void {
  const value = member(json, key);
  if (value !== undefined && !fits(value)) throw invalid(key, rule);
}

function isFlag(value: Json): boolean {
  return typeof value === 'boolean';
}

function isCount(value: Json): boolean {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MAX_COUNT;
}

function isChoices(value: Json): boolean {
  return isCount(value) && (value as number) <= MAX_CHOICES;
}

function isStop(value: Json): boolean {
  return typeof value === 'string' || (Array.isArray(value) && value.every((item) => typeof item === 'string'));
}

function isObjects(value: Json): boolean {
  return Array.isArray(value) && value.every((item) => isObject(item));
}
