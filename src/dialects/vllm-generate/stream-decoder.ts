import type { ChatEvent, DecodeContext, ResponseDecoder } from '../../core/dialect.ts';
import { GatewayError } from '../../core/error.ts';
import { SseLimitError } from '../../lib/sse/sse-limit-error.ts';
import { SseParser } from '../../lib/sse/sse-parser.ts';
import { ChoiceText } from './choice-text.ts';
import { finishChunk, textChunk, usageChunk } from './openai-json.ts';
import { type Reading, type ToldUsage, readRecord } from './reading.ts';
import { createRecordSplitter } from './record-splitter.ts';
import { choiceTokens, guessFinish, tally } from './tally.ts';

/** What a decoder of this dialect must know beside the context. */
export interface GenerateDecoderInput {
  readonly context: DecodeContext;
  /** The prompt that was sent: the server repeats it before each text. */
  readonly prompt: string;
  readonly streamText: 'cumulative' | 'delta';
  /** The bound on output tokens that was sent. */
  readonly maxTokens: number;
  readonly estimateTokens: (text: string) => number;
}

interface Source {
  readonly push: (chunk: Buffer) => boolean;
  /** The last record when nothing closed it. */
  readonly rest: () => Buffer;
}

/** How many bytes a prompt may take in an answer that repeats it: JSON writes a UTF-16 unit in six at most. */
export function echoBytes({ prompt, context }: GenerateDecoderInput): number {
  return 6 * prompt.length * context.request.n;
}

/** Decodes a stream of records, each with the whole text so far (or the next piece), into deltas. */
export class StreamDecoder implements ResponseDecoder {
  readonly #input: GenerateDecoderInput;
  readonly #source: Source;
  readonly #choices: readonly ChoiceText[];
  readonly #started = new Set<number>();
  readonly #finish = new Map<number, string>();
  #events: ChatEvent[] = [];
  #usage: ToldUsage | null = null;
  #tellsFinish = false;
  #ended = false;
  #records = 0;
  #over = false;

  constructor(input: GenerateDecoderInput, isSse: boolean) {
    this.#input = input;
    this.#choices = Array.from({ length: input.context.request.n }, () => new ChoiceText());
    const maxRecordBytes = input.context.maxEventBytes + echoBytes(input);
    const onRecord = (record: Buffer): void => this.#take(record);
    this.#source = isSse ? sseSource(maxRecordBytes, onRecord) : createRecordSplitter({ maxRecordBytes, onRecord });
  }

  push(chunk: Buffer): readonly ChatEvent[] {
    if (this.#over) return [];
    if (!this.#source.push(chunk) && !this.#over) {
      this.#fail(new GatewayError('upstream_response_too_large', 'A part of the answer is too large.'));
    }
    return this.#drain();
  }

  end(): readonly ChatEvent[] {
    if (this.#over) return [];
    const rest = this.#source.rest();
    if (rest.length > 0 && isWhole(rest)) this.#take(rest);
    else if (rest.length > 0) this.#cut();
    if (!this.#over) this.#conclude();
    return this.#drain();
  }

  #drain(): readonly ChatEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  #take(record: Buffer): void {
    if (this.#over) return;
    const text = record.length < 16 ? record.toString('latin1').trim() : null;
    if (text === '') return;
    if (text === '[DONE]') {
      this.#conclude();
      return;
    }
    try {
      this.#apply(readRecord(record));
      this.#records += 1;
    } catch (error) {
      this.#fail(GatewayError.from(error));
    }
  }

  #apply(reading: Reading): void {
    const { piece } = reading;
    if (piece !== null) this.#grow(0, (choice) => choice.append(piece));
    // A server that streams pieces repeats the whole text at the end.
    const isRepeat = !reading.repeatsPrompt && this.#started.size > 0;
    const indexes = isRepeat ? reading.texts.map((_, index) => index) : this.#applyTexts(reading);
    this.#tellsFinish ||= reading.tellsFinish;
    this.#ended ||= reading.ended;
    for (const [at, reason] of reading.finish.entries()) {
      if (reason !== null) this.#finish.set(indexes[at] ?? at, reason);
    }
    this.#usage = reading.usage ?? this.#usage;
  }

  #applyTexts({ texts, repeatsPrompt }: Reading): number[] {
    if (texts.length > this.#choices.length) throw odd('more choices than were asked for');
    const taken: number[] = [];
    for (const [at, raw] of texts.entries()) {
      const { prompt, streamText } = this.#input;
      if (repeatsPrompt && streamText === 'delta') {
        this.#grow(at, (choice) => choice.append(raw));
        taken.push(at);
        continue;
      }
      const text = repeatsPrompt && raw.startsWith(prompt) ? raw.slice(prompt.length) : raw;
      const index = this.#place(text, texts.length === this.#choices.length ? at : null, taken);
      if (index !== null) this.#grow(index, (choice) => choice.replace(text));
      taken.push(index ?? at);
    }
    return taken;
  }

  /**
   * Which choice a text belongs to. A record may hold some of the choices only, and does not say which: it is the one that
   * it continues the furthest. Choices of equal text are interchangeable. Null for a text that is older than what we have.
   */
  #place(text: string, at: number | null, taken: readonly number[]): number | null {
    if (at !== null && !taken.includes(at) && this.#choices[at]?.accepts(text) === true) return at;
    let best: number | null = null;
    for (const [index, choice] of this.#choices.entries()) {
      if (taken.includes(index) || !choice.accepts(text)) continue;
      if (best === null || choice.text.length > (this.#choices[best]?.text.length ?? 0)) best = index;
    }
    if (best === null && !this.#choices.some((choice) => choice.text.startsWith(text))) {
      throw odd('text that was given out has changed');
    }
    return best;
  }

  #grow(index: number, by: (choice: ChoiceText) => string): void {
    const choice = this.#choices[index];
    if (choice === undefined) throw odd('a choice that was not asked for');
    this.#emit(index, by(choice));
  }

  #emit(index: number, text: string): void {
    if (text === '') return;
    this.#events.push(textChunk(this.#input.context, index, text, !this.#started.has(index)));
    this.#started.add(index);
  }

  #conclude(): void {
    const { context, maxTokens, estimateTokens } = this.#input;
    const isCut = this.#tellsFinish && !this.#ended && this.#finish.size < this.#choices.length;
    if (this.#records === 0 || isCut) {
      this.#cut();
      return;
    }
    const told = this.#usage?.completion ?? null;
    for (const [index, choice] of this.#choices.entries()) {
      this.#emit(index, choice.flush());
      if (!this.#started.has(index)) this.#events.push(textChunk(context, index, '', true));
      const tokens = told !== null && this.#choices.length === 1 ? told : choiceTokens(choice, estimateTokens);
      this.#events.push(finishChunk(context, index, this.#finish.get(index) ?? guessFinish(tokens, maxTokens)));
    }
    const { request } = context;
    this.#events.push(
      usageChunk(context, tally({ request, told: this.#usage, choices: this.#choices, estimateTokens })),
      { kind: 'end', clean: true },
    );
    this.#over = true;
  }

  #cut(): void {
    for (const [index, choice] of this.#choices.entries()) this.#emit(index, choice.flush());
    this.#events.push({ kind: 'end', clean: false });
    this.#over = true;
  }

  #fail(error: GatewayError): void {
    this.#events.push({ kind: 'error', error, usage: null });
    this.#over = true;
  }
}

function sseSource(maxEventBytes: number, onRecord: (record: Buffer) => void): Source {
  const parser = new SseParser({ maxEventBytes, onEvent: onRecord });
  return {
    push: (chunk) => isWithinLimit(() => parser.push(chunk)),
    rest: () => {
      isWithinLimit(() => parser.end());
      return Buffer.alloc(0);
    },
  };
}

function isWithinLimit(step: () => void): boolean {
  try {
    step();
    return true;
  } catch (error) {
    if (error instanceof SseLimitError) return false;
    throw error;
  }
}

function isWhole(record: Buffer): boolean {
  const text = record.toString('utf8').trim();
  if (text === '' || text === '[DONE]') return true;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function odd(what: string): GatewayError {
  return new GatewayError('upstream_invalid_response', `The model service sent an odd stream: ${what}.`);
}
