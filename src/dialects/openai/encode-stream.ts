import { randomUUID } from 'node:crypto';
import type { ChatEvent, EncodeContext, ResponseEncoder } from '../../core/dialect.ts';
import { GatewayError } from '../../core/error.ts';
import { totalTokens, type Usage } from '../../core/usage.ts';
import { isObject, type JsonObject } from '../../core/json.ts';
import { applyEdits } from '../../lib/json-span/apply-edits.ts';
import { memberSpans } from '../../lib/json-span/find-span.ts';
import { answerChunks } from './answer-chunks.ts';
import { readChoices } from './read-output.ts';

const DONE = Buffer.from('data: [DONE]\n\n');
const DATA = Buffer.from('data: ');
const COMMENT = Buffer.from(': ');
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;

/** Events as OpenAI's event stream. Usage that the client did not ask for is left out; `[DONE]` comes exactly once. */
export class StreamEncoder implements ResponseEncoder {
  readonly contentType = 'text/event-stream';
  readonly context: EncodeContext;
  readonly #finished = new Set<number>();
  #last: Buffer | null = null;
  #usageSent = false;
  #over = false;

  constructor(context: EncodeContext) {
    this.context = context;
  }

  get over(): boolean {
    return this.#over;
  }

  /** The last chunk written. */
  get last(): Buffer | null {
    return this.#last;
  }

  get usageSent(): boolean {
    return this.#usageSent;
  }

  get finished(): ReadonlySet<number> {
    return this.#finished;
  }

  write(events: readonly ChatEvent[]): Buffer[] {
    const lines: Buffer[] = [];
    for (const event of events) {
      if (this.#over) break;
      this.#write(event, lines);
    }
    return lines;
  }

  /** Ends the stream; nothing is written after. */
  finish(): Buffer {
    this.#over = true;
    return DONE;
  }

  #write(event: ChatEvent, lines: Buffer[]): void {
    switch (event.kind) {
      case 'chunk': {
        const { facts } = event;
        const told = facts.usage !== null || facts.usageFlag !== undefined;
        if (facts.finishReason !== null) this.#noteFinished(event.data);
        if (facts.usageOnly || told) {
          if (this.context.includeUsage) this.#usageSent ||= facts.usageOnly;
          else if (facts.usageOnly) return;
        }
        this.#last = event.data;
        lines.push(line(DATA, told && !this.context.includeUsage ? withoutUsage(event.data) : event.data));
        return;
      }
      case 'comment':
        lines.push(line(COMMENT, event.text));
        return;
      case 'answer':
        for (const chunk of answerChunks(event.data, this.context.includeUsage)) lines.push(line(DATA, chunk));
        lines.push(this.finish());
        return;
      case 'error':
        lines.push(line(DATA, event.raw ?? Buffer.from(JSON.stringify(event.error))), this.finish());
        return;
      case 'end':
        if (!event.clean) lines.push(line(DATA, Buffer.from(JSON.stringify(interrupted()))));
        lines.push(this.finish());
        return;
      default:
        event satisfies never;
    }
  }

  #noteFinished(data: Buffer): void {
    for (const choice of readChoices(parsed(data))) if (choice.finishReason !== null) this.#finished.add(choice.index);
  }
}

/**
 * The last events of a stream that we end: every open choice finishes for `length`, under the id of the chunks before. A
 * stream that has not begun begins first. Nothing for a stream that is over.
 */
export function cutShort(encoder: StreamEncoder, usage: Usage | null): Buffer[] {
  if (encoder.over) return [];
  const { context } = encoder;
  const frame = frameOf(encoder);
  const plain = frame['object'] === 'text_completion';
  const send = (choices: readonly JsonObject[], extra: JsonObject = {}): Buffer =>
    line(DATA, Buffer.from(JSON.stringify({ ...frame, choices, ...extra })));
  const open = Array.from({ length: context.n ?? 1 }, (_, index) => index).filter(
    (index) => !encoder.finished.has(index),
  );
  const lines: Buffer[] = [];
  if (encoder.last === null && !plain) {
    lines.push(
      ...open.map((index) => send([{ index, delta: { role: 'assistant', content: '' }, finish_reason: null }])),
    );
  }
  for (const index of open) {
    const said: JsonObject = plain ? { text: '', logprobs: null } : { delta: {} };
    lines.push(send([{ index, ...said, finish_reason: 'length' }]));
  }
  if (context.includeUsage && !encoder.usageSent && usage !== null) lines.push(send([], { usage: usageJson(usage) }));
  lines.push(encoder.finish());
  return lines;
}

function frameOf({ last, context }: StreamEncoder): JsonObject {
  if (last !== null) {
    const { id = null, object = null, created = null, model = null } = parsed(last);
    return { id, object, created, model };
  }
  const told = context.answer;
  return {
    id: told?.id ?? `chatcmpl-${randomUUID()}`,
    object: told?.endpoint === 'completions' ? 'text_completion' : 'chat.completion.chunk',
    created: told?.created ?? Math.floor(Date.now() / 1000),
    model: told?.model ?? '',
  };
}

function usageJson(usage: Usage): JsonObject {
  return {
    prompt_tokens: usage.prompt,
    completion_tokens: usage.completion,
    total_tokens: totalTokens(usage),
    prompt_tokens_details: { cached_tokens: usage.cached },
    completion_tokens_details: { reasoning_tokens: usage.reasoning },
  };
}

function interrupted(): GatewayError {
  return new GatewayError('upstream_stream_interrupted', 'The model service ended its answer before it was complete.');
}

function withoutUsage(data: Buffer): Buffer {
  const span = memberSpans(data, { start: 0, end: data.length }).get('usage');
  return span === undefined ? data : applyEdits(data, [{ kind: 'remove', span }]);
}

function parsed(data: Buffer): JsonObject {
  const json: unknown = JSON.parse(data.toString());
  return isObject(json) ? json : {};
}

/** One field and the blank line. A raw line end in JSON can only be white space between tokens, so a space does as well. */
function line(field: Buffer, text: Buffer): Buffer {
  const start = field.length;
  const out = Buffer.allocUnsafe(start + text.length + 2);
  out.set(field, 0);
  out.set(text, start);
  const end = start + text.length;
  out[end] = LF;
  out[end + 1] = LF;
  if (text.includes(LF) || text.includes(CR)) {
    for (let at = start; at < end; at += 1) if (out[at] === LF || out[at] === CR) out[at] = SPACE;
  }
  return out;
}
