import type { ChatEvent, DecodeContext, ResponseDecoder } from '../../core/dialect.ts';
import { GatewayError } from '../../core/error.ts';
import type { ResponseHead } from '../../core/http.ts';
import type { JsonObject } from '../../core/json.ts';
import { applyEdits } from '../../lib/json-span/apply-edits.ts';
import { answerEdits } from './answer-edits.ts';
import { parseUpstream } from './parse-upstream.ts';
import { readChoices } from './read-output.ts';
import { readUsage } from './read-usage.ts';
import { failureInAnswer, failureOfStatus, invalidAnswer, type UpstreamFailure } from './upstream-error.ts';

/** Error bodies are read up to here; what is longer is no error object. */
const MAX_ERROR_BYTES = 65_536;

/** Reads an answer that comes whole, good or bad: its pieces are joined once and parsed once. */
export class AnswerDecoder implements ResponseDecoder {
  readonly #head: ResponseHead;
  readonly #context: DecodeContext;
  readonly #good: boolean;
  readonly #pieces: Buffer[] = [];
  #bytes = 0;
  #over = false;

  constructor(head: ResponseHead, context: DecodeContext) {
    this.#head = head;
    this.#context = context;
    this.#good = head.status >= 200 && head.status < 300;
  }

  push(chunk: Buffer): readonly ChatEvent[] {
    if (this.#over || chunk.length === 0) return [];
    const limit = this.#good ? this.#context.maxAnswerBytes : MAX_ERROR_BYTES;
    this.#bytes += chunk.length;
    if (this.#bytes > limit) {
      if (!this.#good) return [];
      this.#pieces.length = 0;
      return this.#fail({
        error: new GatewayError(
          'upstream_response_too_large',
          `The model service's answer is longer than ${limit} bytes.`,
        ),
      });
    }
    this.#pieces.push(chunk);
    return [];
  }

  end(): readonly ChatEvent[] {
    if (this.#over) return [];
    const [first] = this.#pieces;
    const body = this.#pieces.length === 1 && first !== undefined ? first : Buffer.concat(this.#pieces);
    if (!this.#good) return this.#fail(failureOfStatus(this.#head, body));
    const json = parseUpstream(body);
    if (json === null)
      return this.#fail({ error: invalidAnswer('The model service sent an answer that is not JSON.', body) });
    const failure = failureInAnswer(json, body, false);
    if (failure !== null) return this.#fail(failure);
    const list = this.#context.request.endpoint === 'embeddings' ? 'data' : 'choices';
    if (!Array.isArray(json[list])) {
      return this.#fail({ error: invalidAnswer(`The model service sent an answer without \`${list}\`.`, body) });
    }
    this.#over = true;
    return [this.#answer(body, json), { kind: 'end', clean: true }];
  }

  #answer(body: Buffer, json: JsonObject): ChatEvent {
    const choices = readChoices(json);
    const { usage, flag } = readUsage(json['usage']);
    const outputChars = choices.reduce((sum, choice) => sum + choice.outputChars, 0);
    return {
      kind: 'answer',
      data: applyEdits(body, answerEdits(body, json, this.#context)),
      facts: {
        content: true,
        outputChars,
        finishReason: choices.find((choice) => choice.finishReason !== null)?.finishReason ?? null,
        usage,
        usageOnly: false,
        ...(flag === null ? {} : { usageFlag: flag }),
      },
    };
  }

  #fail(failure: UpstreamFailure): readonly ChatEvent[] {
    this.#over = true;
    return [{ kind: 'error', usage: null, ...failure }];
  }
}
