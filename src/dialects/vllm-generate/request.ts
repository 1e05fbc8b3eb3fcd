import type { ChatRequest } from '../../core/chat-request.ts';
import { GatewayError } from '../../core/error.ts';
import type { Json } from '../../core/json.ts';
import type { Deployment } from '../../core/snapshot.ts';
import { constraintOf } from './constraint.ts';
import type { GenerateOptions } from './options.ts';
import { CARRIED, HARMLESS, NEUTRAL } from './parameters.ts';

/** Fields with a translation of their own, per endpoint. */
const TRANSLATED = new Set([
  'model',
  'stream',
  'n',
  'max_tokens',
  'max_completion_tokens',
  'response_format',
  'structured_outputs',
  'guided_json',
  'guided_regex',
  'guided_choice',
  'guided_grammar',
]);

interface BodyInput {
  readonly request: ChatRequest;
  readonly deployment: Deployment;
  readonly options: GenerateOptions;
  readonly prompt: string;
}

/**
 * The body of `POST /generate`. Values that keep their name keep their bytes. Throws `GatewayError`
 * (`unsupported_parameter`) for every field that has no place in it.
 */
export function generateBody({ request, deployment, options, prompt }: BodyInput): Buffer {
  checkFields(request);
  const { json, raw, spans } = request;
  const fields = [`"prompt":${JSON.stringify(prompt)}`, `"stream":${request.stream}`];
  if (request.n !== 1) {
    if (options.maxTokensField === 'max_new_tokens') throw unsupported('n', 'this model gives one choice at a time');
    fields.push(`"n":${request.n}`);
  }
  fields.push(`"${options.maxTokensField}":${maxTokensOf(request, deployment)}`);
  for (const name of Object.keys(json)) {
    const value = json[name];
    if (value === null || value === undefined || !CARRIED.has(name)) continue;
    const span = spans.get(name);
    const text = span === undefined ? JSON.stringify(value) : raw.toString('utf8', span.start, span.end);
    fields.push(`${JSON.stringify(name)}:${text}`);
  }
  const constraint = constraintOf(json, options.constraints);
  if (constraint !== null) fields.push(`${JSON.stringify(constraint.name)}:${JSON.stringify(constraint.value)}`);
  return Buffer.from(`{${fields.join(',')}}`);
}

/** The bound on output tokens that is sent: always one, for these servers stop after 16 tokens or so when nothing is said. */
export function maxTokensOf({ maxOutputTokens }: ChatRequest, { profile }: Deployment): number {
  return maxOutputTokens ?? profile.defaultMaxTokens;
}

function checkFields({ json, endpoint, n }: ChatRequest): void {
  const texts = endpoint === 'chat' ? 'messages' : 'prompt';
  for (const name of Object.keys(json)) {
    if (name === texts || TRANSLATED.has(name) || CARRIED.has(name) || HARMLESS.has(name)) continue;
    const value = json[name] ?? null;
    const isNeutral = Object.hasOwn(NEUTRAL, name) ? NEUTRAL[name] : undefined;
    if (isNeutral === undefined) throw unsupported(name, 'it is not known here');
    if (value === null || isNeutral(value) || (name === 'best_of' && value === n)) continue;
    throw unsupported(name, 'the model service has no place for it');
  }
}

/** The prompt of a `completions` request: one string. Throws `GatewayError`. */
export function completionPrompt(prompt: Json | undefined): string {
  const one = Array.isArray(prompt) && prompt.length === 1 ? (prompt[0] as Json) : prompt;
  if (typeof one === 'string') return one;
  if (one === undefined || one === null) {
    throw new GatewayError('missing_parameter', 'prompt is missing.', { param: 'prompt' });
  }
  throw unsupported('prompt', 'this model takes one prompt, as a string');
}

function unsupported(param: string, why: string): GatewayError {
  return new GatewayError('unsupported_parameter', `${param} cannot be used with this model: ${why}.`, { param });
}
