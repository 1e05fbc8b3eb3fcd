import type { ChatRequest } from '../../core/chat-request.ts';
import { isArray, isObject, type Json, type JsonObject, own } from '../../core/json.ts';
import { type ContentRules, contentBlocks } from './content-blocks.ts';
import { arrayText, JsonSource, type JsonText, objectText, valueText } from './json-text.ts';
import { invalid, unsupported } from './refuse.ts';
import { callBlocks, toolUseId } from './tool-calls.ts';

/** A chat as Anthropic has it: instructions apart, then turns of user and assistant. */
export interface Conversation {
  /** Text blocks, in the order in which they stood. */
  readonly system: JsonText[];
  readonly messages: readonly JsonText[];
}

interface Turn {
  readonly role: 'user' | 'assistant';
  readonly blocks: JsonText[];
}

/** Members of a message that are carried, or that only repeat or name what is carried. */
const MEMBERS: Readonly<Record<string, ReadonlySet<string>>> = {
  system: new Set(['role', 'content']),
  developer: new Set(['role', 'content']),
  user: new Set(['role', 'content']),
  tool: new Set(['role', 'content', 'tool_call_id', 'name']),
  assistant: new Set([
    'role',
    'content',
    'refusal',
    'tool_calls',
    'thinking_blocks',
    // Thinking without its signature cannot be sent back; with it, it stands in thinking_blocks.
    'reasoning_content',
    'reasoning',
  ]),
};
const TEXT: ContentRules = { media: false, refusals: false };
const TEXT_AND_MEDIA: ContentRules = { media: true, refusals: false };
const ANSWER: ContentRules = { media: false, refusals: true };

/**
 * Sorts OpenAI's messages: `system` and `developer` go to the top, messages of one role in a row become one turn, results of
 * tools are the user's. Texts of white space alone, and turns with nothing in them, are refused there and left out here.
 * Throws `GatewayError` with `param`.
 */
export function conversationOf(request: ChatRequest): Conversation {
  const messages = own(request.json, 'messages');
  if (!isArray(messages)) throw invalid('messages', 'an array');
  const sources = lazySources(request);
  const system: JsonText[] = [];
  const turns: Turn[] = [];
  for (const [at, message] of messages.entries()) {
    const param = `messages[${at}]`;
    if (!isObject(message)) throw invalid(param, 'an object');
    const role = knownRole(message, param);
    const content = own(message, 'content');
    if (role === 'system') system.push(...contentBlocks(content, TEXT, `${param}.content`));
    else if (role === 'user') add(turns, 'user', contentBlocks(content, TEXT_AND_MEDIA, `${param}.content`));
    else if (role === 'tool') add(turns, 'user', [toolResult(message, param)]);
    else
      add(
        turns,
        'assistant',
        assistantBlocks(message, () => sources()[at], param),
      );
  }
  if (turns.length === 0) throw unsupported('messages', 'it needs a message that is not an instruction');
  return {
    system,
    messages: turns.map(({ role, blocks }) => objectText({ role: valueText(role), content: arrayText(blocks) })),
  };
}

function knownRole(message: JsonObject, param: string): 'system' | 'user' | 'tool' | 'assistant' {
  const role = own(message, 'role');
  const members = typeof role === 'string' && Object.hasOwn(MEMBERS, role) ? MEMBERS[role] : undefined;
  if (members === undefined) throw unsupported(`${param}.role`, 'it is system, developer, user, assistant or tool');
  for (const name of Object.keys(message)) {
    if (members.has(name) || isNothing(own(message, name))) continue;
    throw unsupported(`${param}.${name}`, 'the model service has no place for it');
  }
  return role === 'developer' ? 'system' : (role as 'system' | 'user' | 'tool' | 'assistant');
}

function isNothing(value: Json): boolean {
  return value === null || value === '' || (isArray(value) && value.length === 0);
}

function add(turns: Turn[], role: Turn['role'], blocks: readonly JsonText[]): void {
  if (blocks.length === 0) return;
  const last = turns.at(-1);
  if (last?.role === role) last.blocks.push(...blocks);
  else turns.push({ role, blocks: [...blocks] });
}

function assistantBlocks(message: JsonObject, source: () => JsonSource | undefined, param: string): JsonText[] {
  const refusal = own(message, 'refusal');
  return [
    ...thinkingBlocks(message, source, `${param}.thinking_blocks`),
    ...contentBlocks(own(message, 'content'), ANSWER, `${param}.content`),
    ...contentBlocks(refusal, TEXT, `${param}.refusal`),
    ...callBlocks(own(message, 'tool_calls'), `${param}.tool_calls`),
  ];
}

/** Signed blocks go back byte for byte, before all else. */
function thinkingBlocks(message: JsonObject, source: () => JsonSource | undefined, param: string): readonly JsonText[] {
  const blocks = own(message, 'thinking_blocks');
  if (blocks === null || (isArray(blocks) && blocks.length === 0)) return [];
  if (!isArray(blocks)) throw invalid(param, 'an array');
  for (const [at, block] of blocks.entries()) {
    const type = isObject(block) ? own(block, 'type') : null;
    if (type !== 'thinking' && type !== 'redacted_thinking') {
      throw invalid(`${param}[${at}].type`, 'thinking or redacted_thinking');
    }
  }
  return (source()?.members().get('thinking_blocks')?.elements() ?? []).map((block) => block.text);
}

function toolResult(message: JsonObject, param: string): JsonText {
  const id = own(message, 'tool_call_id');
  if (typeof id !== 'string' || id === '') throw invalid(`${param}.tool_call_id`, 'a string');
  const blocks = contentBlocks(own(message, 'content'), TEXT_AND_MEDIA, `${param}.content`);
  return objectText({
    type: '"tool_result"',
    tool_use_id: valueText(toolUseId(id)),
    content: blocks.length === 0 ? null : arrayText(blocks),
  });
}

/** The messages' bytes are looked for once, and only when a message needs them. */
function lazySources({ raw, spans }: ChatRequest): () => readonly JsonSource[] {
  let sources: readonly JsonSource[] | null = null;
  return () => {
    const span = spans.get('messages');
    sources ??= span === undefined ? [] : new JsonSource(raw, span).elements();
    return sources;
  };
}
