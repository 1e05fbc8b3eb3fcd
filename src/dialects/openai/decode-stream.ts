import type { ChatEvent, ChunkFacts, DecodeContext, ResponseDecoder } from '../../core/dialect.ts';
import { GatewayError } from '../../core/error.ts';
import type { Usage } from '../../core/usage.ts';
import type { JsonObject } from '../../core/json.ts';
import { applyEdits } from '../../lib/json-span/apply-edits.ts';
import { SseLimitError } from '../../lib/sse/sse-limit-error.ts';
import { SseParser } from '../../lib/sse/sse-parser.ts';
import { chunkEdits } from './chunk-edits.ts';
import type { ChunkTemplate } from './chunk-template.ts';
import { learnTemplate } from './learn-template.ts';
import { parseUpstream } from './parse-upstream.ts';
import { type ChoiceOutput, readChoices } from './read-output.ts';
import { type ReadUsage, readUsage } from './read-usage.ts';
import { ToolCallIndexes } from './tool-call-indexes.ts';
import { failureInAnswer, invalidAnswer, type UpstreamFailure } from './upstream-error.ts';

const DONE = Buffer.from('[DONE]');
/** Shapes kept at once: choices and kinds of text may alternate. */
const MAX_TEMPLATES = 4;
/** A stream whose chunks never fit a shape is not worth learning from. */
const MAX_UNUSED = 8;

/** Reads the event stream of an OpenAI-compatible server. Chunks pass as they came but for what clients need changed. */
export class StreamDecoder implements ResponseDecoder {
  readonly #context: DecodeContext;
  readonly #parser: SseParser;
  readonly #calls = new ToolCallIndexes();
  /** Whether each choice seen has finished. */
  readonly #choices = new Map<number, boolean>();
  /** The last running total of each choice, for servers that tell it on every chunk. */
  readonly #running = new Map<number, number>();
  #templates: ChunkTemplate[] = [];
  #unused = 0;
  #usage: Usage | null = null;
  #events: ChatEvent[] = [];
  #over = false;

  constructor(context: DecodeContext) {
    this.#context = context;
    this.#parser = new SseParser({
      maxEventBytes: context.maxEventBytes,
      onEvent: (data, event) => this.#event(data, event),
      onComment: (text) => {
        if (!this.#over) this.#events.push({ kind: 'comment', text });
      },
    });
  }

  push(chunk: Buffer): readonly ChatEvent[] {
    if (this.#over) return [];
    try {
      this.#parser.push(chunk);
    } catch (error) {
      this.#tooLarge(error);
    }
    return this.#take();
  }

  end(): readonly ChatEvent[] {
    if (this.#over) return [];
    try {
      this.#parser.end();
    } catch (error) {
      this.#tooLarge(error);
    }
    if (!this.#over) {
      this.#over = true;
      this.#events.push({ kind: 'end', clean: this.#allFinished() });
    }
    return this.#take();
  }

  /** Many servers close without [DONE]: then every choice that spoke must have finished. */
  #allFinished(): boolean {
    for (const finished of this.#choices.values()) if (!finished) return false;
    return this.#choices.size > 0;
  }

  #take(): readonly ChatEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  #tooLarge(reason: unknown): void {
    if (!(reason instanceof SseLimitError)) throw reason;
    this.#fail({ error: new GatewayError('upstream_response_too_large', reason.message) });
  }

  #event(data: Buffer, event: string): void {
    if (this.#over) return;
    const fitting = this.#fitting(data);
    if (fitting !== null) {
      this.#events.push({ kind: 'chunk', data: fitting.show(data), facts: this.#fittingFacts(fitting) });
      return;
    }
    if (isDone(data)) {
      this.#over = true;
      this.#events.push({ kind: 'end', clean: true });
      return;
    }
    if (!isBlank(data)) this.#read(data, event);
  }

  #fittingFacts({ chars, choice, usage }: ChunkTemplate): ChunkFacts {
    if (usage === null) return textFacts(chars);
    const read = this.#cumulative(readUsage(usage), choice);
    return { ...textFacts(chars), usage: read.usage, ...(read.flag === null ? {} : { usageFlag: read.flag }) };
  }

  #fitting(data: Buffer): ChunkTemplate | null {
    const templates = this.#templates;
    for (let at = 0; at < templates.length; at += 1) {
      const template = templates[at] as ChunkTemplate;
      if (!template.fits(data)) continue;
      this.#unused = 0;
      return template;
    }
    return null;
  }

  #read(data: Buffer, event: string): void {
    const json = parseUpstream(data);
    if (json === null) {
      this.#fail({ error: invalidAnswer('The model service sent a chunk that is not a JSON object.', data) });
      return;
    }
    const failure = failureInAnswer(json, data, event === 'error');
    if (failure !== null) {
      this.#fail(failure);
      return;
    }
    const choices = readChoices(json);
    const edits = chunkEdits(data, json, this.#context.modelShown, this.#calls);
    const shown = applyEdits(data, edits);
    this.#finish(choices, json);
    this.#events.push({ kind: 'chunk', data: shown, facts: this.#facts(json, choices) });
    this.#learn(data, shown, json, choices);
  }

  #facts(json: JsonObject, choices: readonly ChoiceOutput[]): ChunkFacts {
    const { usage, flag } = this.#cumulative(
      readUsage(json['usage']),
      choices.length === 1 ? (choices[0]?.index ?? null) : null,
    );
    let outputChars = 0;
    let finishReason: string | null = null;
    for (const choice of choices) {
      outputChars += choice.outputChars;
      finishReason = choice.finishReason ?? finishReason;
    }
    return {
      content: outputChars > 0 || choices.some((choice) => choice.toolCalls.length > 0),
      outputChars,
      finishReason,
      usage,
      usageOnly: choices.length === 0 && (json['usage'] ?? null) !== null,
      ...(flag === null ? {} : { usageFlag: flag }),
    };
  }

  /** Running totals come per choice: with several choices the answer's is their sum, the prompt counted once. */
  #cumulative(read: ReadUsage, choice: number | null): ReadUsage {
    const { usage } = read;
    if (usage === null) return read;
    let completion = usage.completion;
    if (this.#context.request.n > 1 && choice !== null) {
      this.#running.set(choice, completion);
      completion = 0;
      for (const tokens of this.#running.values()) completion += tokens;
    }
    this.#usage = { ...usage, completion };
    return { usage: this.#usage, flag: null };
  }

  /** A call without arguments ends as the empty string, which is no JSON. Not for a call that was cut off. */
  #finish(choices: readonly ChoiceOutput[], json: JsonObject): void {
    for (const { index, finishReason } of choices) {
      if (!this.#choices.has(index)) this.#choices.set(index, false);
      if (finishReason === null) continue;
      this.#choices.set(index, true);
      if (finishReason === 'length' || finishReason === 'content_filter') continue;
      const empty = this.#calls.withoutArguments(index);
      if (empty.length === 0) continue;
      const delta = { tool_calls: empty.map((call) => ({ index: call, function: { arguments: '{}' } })) };
      const chunk = {
        id: json['id'],
        object: json['object'],
        created: json['created'],
        model: this.#context.modelShown,
        choices: [{ index, delta, finish_reason: null }],
      };
      this.#events.push({
        kind: 'chunk',
        data: Buffer.from(JSON.stringify(chunk)),
        facts: textFacts(2 * empty.length),
      });
    }
  }

  #learn(data: Buffer, shown: Buffer, json: JsonObject, choices: readonly ChoiceOutput[]): void {
    // A call may have been opened: fragments that follow may have another index.
    if (choices.some((choice) => choice.toolCalls.length > 0)) {
      this.#templates = this.#templates.filter((template) => !template.tool);
    }
    if (this.#unused >= MAX_UNUSED) return;
    const template = learnTemplate(data, shown, json);
    if (template === null) return;
    this.#unused += 1;
    this.#templates = [template, ...this.#templates].slice(0, MAX_TEMPLATES);
  }

  #fail(failure: UpstreamFailure): void {
    this.#over = true;
    this.#events.push({ kind: 'error', usage: this.#usage, ...failure });
  }
}

function textFacts(outputChars: number): ChunkFacts {
  return { content: outputChars > 0, outputChars, finishReason: null, usage: null, usageOnly: false };
}

function isDone(data: Buffer): boolean {
  if (data.length < DONE.length || data.length > DONE.length + 4) return false;
  return data.equals(DONE) || data.toString('latin1').trim() === '[DONE]';
}

function isBlank(data: Buffer): boolean {
  for (const byte of data) if (byte > 0x20) return false;
  return true;
}
