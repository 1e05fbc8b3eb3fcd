import type { ChatEvent, DecodeContext } from '../../core/dialect.ts';
import { isArray, isObject, type JsonObject, own } from '../../core/json.ts';
import { textOf } from './text-of.ts';
import { arrayText, JsonSource, type JsonText, objectText, valueText } from './json-text.ts';
import { answer, callText } from './openai-json.ts';
import { parseUpstream } from './parse-upstream.ts';
import { finishReason } from './stop-reason.ts';
import { invalidAnswer, isErrorObject, toldError } from './upstream-error.ts';
import { UsageTally } from './usage-tally.ts';

interface Output {
  readonly texts: string[];
  readonly thoughts: string[];
  readonly thinkingBlocks: JsonText[];
  readonly calls: JsonText[];
  chars: number;
}

/** A whole message as OpenAI's whole answer. Throws `GatewayError`: what was reported, or `upstream_invalid_response`. */
export function decodeMessage(body: Buffer, context: DecodeContext): ChatEvent {
  const json = parseUpstream(body);
  if (json === null) throw invalidAnswer('The model service sent an answer that is not JSON.', body);
  if (isErrorObject(json)) throw toldError(json, body);
  const content = own(json, 'content');
  if (!isArray(content)) throw invalidAnswer('The model service sent an answer without `content`.', body);
  const sources = new JsonSource(body).members().get('content')?.elements() ?? [];
  const output: Output = { texts: [], thoughts: [], thinkingBlocks: [], calls: [], chars: 0 };
  for (const [at, block] of content.entries()) {
    const source = sources[at];
    if (isObject(block) && source !== undefined) takeBlock(block, source, output);
  }
  const tally = new UsageTally();
  const isTold = tally.add(own(json, 'usage'));
  const usage = isTold ? tally.usage() : null;
  const flag = tally.flag ?? (usage === null ? 'usage_missing' : null);
  return answer(context, messageText(output), {
    content: true,
    outputChars: output.chars,
    finishReason: finishReason(textOf(json, 'stop_reason'), output.calls.length > 0),
    usage,
    usageOnly: false,
    ...(flag === null ? {} : { usageFlag: flag }),
  });
}

function messageText({ texts, thoughts, thinkingBlocks, calls }: Output): JsonText {
  return objectText({
    role: '"assistant"',
    content: texts.length === 0 && calls.length > 0 ? 'null' : valueText(texts.join('')),
    refusal: 'null',
    reasoning_content: thoughts.length === 0 ? null : valueText(thoughts.join('')),
    thinking_blocks: thinkingBlocks.length === 0 ? null : arrayText(thinkingBlocks),
    tool_calls: calls.length === 0 ? null : arrayText(calls),
  });
}

/** Types of blocks that are not known yet pass unseen, as the API's rules for versions ask. */
function takeBlock(block: JsonObject, source: JsonSource, output: Output): void {
  switch (textOf(block, 'type')) {
    case 'text': {
      const text = textOf(block, 'text');
      if (text === '') return;
      output.texts.push(text);
      output.chars += text.length;
      return;
    }
    case 'thinking': {
      const thought = textOf(block, 'thinking');
      if (thought !== '') output.thoughts.push(thought);
      output.thinkingBlocks.push(source.text);
      output.chars += thought.length;
      return;
    }
    case 'redacted_thinking':
      output.thinkingBlocks.push(source.text);
      return;
    case 'tool_use': {
      const name = textOf(block, 'name');
      const input = isObject(own(block, 'input')) ? (source.members().get('input')?.text ?? '{}') : '{}';
      output.calls.push(callText({ id: textOf(block, 'id'), name, arguments: input }));
      output.chars += name.length + input.length;
      return;
    }
    default:
  }
}
