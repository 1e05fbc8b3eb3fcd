import type { ChatEvent, ChunkFacts, DecodeContext, ResponseDecoder } from '../../core/dialect.ts';
import { GatewayError } from '../../core/error.ts';
import { isObject, type Json, type JsonObject, own } from '../../core/json.ts';
import { SseLimitError } from '../../lib/sse/sse-limit-error.ts';
import { SseParser } from '../../lib/sse/sse-parser.ts';
import { type BlockDelta, StreamBlocks } from './stream-blocks.ts';
import { textOf } from './text-of.ts';
import type { JsonText } from './json-text.ts';
import { deltaChunk, NO_OUTPUT, usageChunk } from './openai-json.ts';
import { parseUpstream } from './parse-upstream.ts';
import { finishReason, isCutShort } from './stop-reason.ts';
import { invalidAnswer, isErrorObject, toldError } from './upstream-error.ts';
import { UsageTally } from './usage-tally.ts';

/** Keeps connections awake that close when nothing comes; clients' parsers skip it. */
const PING = Buffer.from('ping');
const ROLE: JsonText = '{"role":"assistant","content":""}';

/** Reads the event stream of a message and gives the chunks of a chat completion. */
export class StreamDecoder implements ResponseDecoder {
  readonly #context: DecodeContext;
  readonly #parser: SseParser;
  readonly #blocks: StreamBlocks;
  readonly #tally = new UsageTally();
  #events: ChatEvent[] = [];
  #started = false;
  /** The final stop reason, empty where none was told; undefined until the end. */
  #stopReason: string | undefined;
  #lengthTold = false;
  #chars = 0;
  #over = false;

  constructor(context: DecodeContext) {
    this.#context = context;
    this.#blocks = new StreamBlocks({ maxBytes: context.maxAnswerBytes });
    this.#parser = new SseParser({
      maxEventBytes: context.maxEventBytes,
      onEvent: (data, name) => this.#event(data, name),
      onComment: (text) => {
        if (!this.#over) this.#events.push({ kind: 'comment', text });
      },
    });
  }

  push(chunk: Buffer): readonly ChatEvent[] {
    if (!this.#over) this.#guard(() => this.#parser.push(chunk));
    return this.#take();
  }

  end(): readonly ChatEvent[] {
    if (!this.#over) this.#guard(() => this.#parser.end());
    // Some servers close after the stop reason without a last event.
    if (!this.#over && this.#stopReason !== undefined) this.#conclude();
    if (!this.#over) {
      this.#over = true;
      this.#events.push({ kind: 'end', clean: false });
    }
    return this.#take();
  }

  #take(): readonly ChatEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  #guard(step: () => void): void {
    try {
      step();
    } catch (error) {
      if (this.#over) return;
      if (error instanceof SseLimitError) this.#fail(new GatewayError('upstream_response_too_large', error.message));
      else this.#fail(GatewayError.from(error));
    }
  }

  #fail(error: GatewayError): void {
    this.#over = true;
    this.#events.push({ kind: 'error', error, usage: this.#tally.usage() });
  }

  #event(data: Buffer, name: string): void {
    if (this.#over) return;
    const json = parseUpstream(data);
    if (json === null) {
      throw invalidAnswer('The model service sent an event that is not a JSON object.', data);
    }
    if (name === 'error' || isErrorObject(json)) throw toldError(json, data);
    switch (textOf(json, 'type')) {
      case 'ping':
        this.#events.push({ kind: 'comment', text: PING });
        return;
      case 'message_start':
        this.#start(own(json, 'message'));
        return;
      case 'content_block_start':
        for (const delta of this.#blocks.start(json, data)) this.#show(delta);
        return;
      case 'content_block_delta':
        this.#show(this.#blocks.delta(json));
        return;
      case 'content_block_stop':
        this.#show(this.#blocks.stop(json));
        return;
      case 'message_delta':
        this.#messageDelta(json);
        return;
      case 'message_stop':
        this.#conclude();
        return;
      // Other types may come with any version of the API, and are to be passed over.
      default:
    }
  }

  /** Told early, so that an answer that is cut off later is not without its prompt. */
  #start(message: Json): void {
    if (isObject(message)) this.#tally.add(own(message, 'usage'));
    if (this.#started) return;
    this.#started = true;
    this.#events.push(deltaChunk(this.#context, ROLE, { ...NO_OUTPUT, usage: this.#tally.usage() }));
  }

  #show(delta: BlockDelta | null): void {
    if (delta === null) return;
    if (this.#stopReason !== undefined) throw invalidAnswer('The model service went on after its answer had ended.');
    if (!this.#started) this.#start(null);
    this.#chars += delta.chars;
    this.#push(delta.text, { ...NO_OUTPUT, content: true, outputChars: delta.chars });
  }

  #push(delta: JsonText, facts: ChunkFacts): void {
    this.#events.push(deltaChunk(this.#context, delta, facts));
  }

  #messageDelta(json: JsonObject): void {
    if (this.#tally.add(own(json, 'usage'))) this.#lengthTold = true;
    const delta = own(json, 'delta');
    const reason = isObject(delta) ? textOf(delta, 'stop_reason') : '';
    if (reason !== '') this.#finish(reason);
  }

  #finish(reason: string): void {
    if (this.#stopReason !== undefined) return;
    for (const delta of this.#blocks.close(isCutShort(reason))) this.#show(delta);
    if (!this.#started) this.#start(null);
    this.#stopReason = reason;
    this.#push('{}', { ...NO_OUTPUT, finishReason: finishReason(reason, this.#blocks.calls > 0) });
  }

  #conclude(): void {
    this.#finish('');
    const usage = this.#lengthTold ? this.#tally.usage() : this.#tally.estimate(this.#chars);
    const flag = this.#tally.flag ?? (this.#lengthTold && usage !== null ? null : 'usage_missing');
    if (usage !== null) this.#events.push(usageChunk(this.#context, usage, flag));
    this.#over = true;
    this.#events.push({ kind: 'end', clean: true });
  }
}
