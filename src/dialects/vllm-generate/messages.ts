import { GatewayError } from '../../core/error.ts';
import { isArray, isObject, type Json, memberOf } from '../../core/json.ts';
import type { TemplateMessage } from './chat-templates.ts';
import type { SpecialTokens } from './special-tokens.ts';

interface Rules {
  /** May messages of the role `tool` and tool calls of the past go to the template? */
  readonly knowsTools: boolean;
  readonly special: SpecialTokens;
  readonly specialTokens: 'escape' | 'refuse';
}

const ROLES = new Set(['system', 'developer', 'user', 'assistant']);
/** Fields that a template reads when it knows tools. */
const TOOL_FIELDS = new Set(['tool_calls', 'tool_call_id', 'name']);

/**
 * OpenAI's `messages` as a chat template reads them: text only, `developer` as `system`, control tokens broken or refused.
 * Throws `GatewayError` with the `param` of what a prompt cannot carry.
 */
export function templateMessages(messages: Json | undefined, rules: Rules): TemplateMessage[] {
  if (!isArray(messages) || messages.length === 0) {
    throw new GatewayError('missing_parameter', 'messages must be a list with at least one message.', {
      param: 'messages',
    });
  }
  return messages.map((message, index) => templateMessage(message, `messages[${index}]`, rules));
}

function templateMessage(message: Json, param: string, rules: Rules): TemplateMessage {
  if (!isObject(message)) throw invalid(param, 'must be an object');
  const role = memberOf(message, 'role');
  const withTools = rules.knowsTools && (role === 'tool' || role === 'assistant');
  if (typeof role !== 'string') throw invalid(`${param}.role`, 'must be a string');
  if (!ROLES.has(role) && !(role === 'tool' && withTools)) throw unsupported(`${param}.role`);
  const extra: Record<string, Json> = {};
  for (const [name, value] of Object.entries(message)) {
    if (name === 'role' || name === 'content' || isNothing(value)) continue;
    if (!withTools || !TOOL_FIELDS.has(name)) throw unsupported(`${param}.${name}`);
    extra[name] = guardDeep(value, `${param}.${name}`, rules);
  }
  const content = contentText(memberOf(message, 'content') ?? null, `${param}.content`);
  return { ...extra, role: role === 'developer' ? 'system' : role, content: guard(content, `${param}.content`, rules) };
}

function contentText(content: Json, param: string): string {
  if (content === null) return '';
  if (typeof content === 'string') return content;
  if (!isArray(content)) throw invalid(param, 'must be a string or a list of parts');
  // Joined before control tokens are looked for, so that none can be put together from two parts.
  return content.map((part, index) => partText(part, `${param}[${index}]`)).join('');
}

function partText(part: Json, param: string): string {
  if (!isObject(part)) throw invalid(param, 'must be an object');
  const type = memberOf(part, 'type');
  if (type !== 'text') throw unsupported(`${param}.type`);
  for (const name of Object.keys(part)) {
    if (name !== 'type' && name !== 'text' && !isNothing(memberOf(part, name))) throw unsupported(`${param}.${name}`);
  }
  const text = memberOf(part, 'text');
  if (typeof text !== 'string') throw invalid(`${param}.text`, 'must be a string');
  return text;
}

function guard(text: string, param: string, { special, specialTokens }: Rules): string {
  if (specialTokens === 'escape') return special.escape(text);
  const found = special.find(text);
  if (found === null) return text;
  throw new GatewayError('invalid_value', `${param} holds ${found}, a control token of this model.`, { param });
}

/** The same for every string in a tool call: templates print names and arguments as they are. */
function guardDeep(value: Json, param: string, rules: Rules): Json {
  if (typeof value === 'string') return guard(value, param, rules);
  if (isArray(value)) return value.map((item, index) => guardDeep(item, `${param}[${index}]`, rules));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [guard(key, param, rules), guardDeep(item, `${param}.${key}`, rules)]),
  );
}

function isNothing(value: Json | undefined): boolean {
  return value === null || value === undefined || (isArray(value) && value.length === 0);
}

function invalid(param: string, problem: string): GatewayError {
  return new GatewayError('invalid_value', `${param} ${problem}.`, { param });
}

function unsupported(param: string): GatewayError {
  return new GatewayError('unsupported_parameter', `This model reads text only: ${param} cannot be carried.`, {
    param,
  });
}
