import type { ProcessingRequest } from '../../src/extproc/codec/processing-request.ts';
import type { ProcessingResponse } from '../../src/extproc/codec/processing-response.ts';

interface Direction {
  headers: 'none' | 'asked' | 'answered';
  headOnly: boolean;
  /** Envoy itself has said the last of this direction. What comes after is no message of Envoy's, so nothing is owed for it. */
  said: boolean;
  bodies: number;
  bodyAnswers: number;
  ended: boolean;
  trailers: 'none' | 'asked' | 'answered';
}

const direction = (): Direction => ({
  headers: 'none',
  headOnly: false,
  said: false,
  bodies: 0,
  bodyAnswers: 0,
  ended: false,
  trailers: 'none',
});

/**
 * What Envoy 1.40 takes for an answer, written from its side and knowing nothing of our sessions: anything else is a
 * «spurious message», which costs the request. `level` says which of the two filters it plays.
 */
export class EnvoyModel {
  readonly faults: string[] = [];
  readonly request = direction();
  readonly response = direction();
  replaced = false;
  readonly #buffered: boolean;
  readonly #level: 'request' | 'attempt';

  constructor(level: 'request' | 'attempt', buffered: boolean) {
    this.#level = level;
    this.#buffered = buffered;
  }

  asked(message: ProcessingRequest): void {
    const side = message.kind.startsWith('request') ? this.request : this.response;
    if (message.kind.endsWith('_headers')) {
      if (side.headers !== 'none') return;
      side.headers = 'asked';
      side.headOnly = message.endOfStream;
      side.said = message.endOfStream;
    } else if (side.headers === 'none' || side.said) return;
    else if (message.kind.endsWith('_body')) {
      side.bodies++;
      side.said = message.endOfStream;
    } else if (message.kind.endsWith('_trailers')) {
      side.trailers = 'asked';
      side.said = true;
    }
  }

  answered(answer: ProcessingResponse): void {
    if (this.replaced) this.faults.push(`${answer.kind} after an immediate response`);
    if (answer.kind === 'immediate_response') {
      if (this.response.headers === 'answered') this.faults.push('immediate response after the head went out');
      this.replaced = true;
      return;
    }
    const side = answer.kind.startsWith('request') ? this.request : this.response;
    const body = 'change' in answer ? answer.change.body : undefined;
    if (answer.kind.endsWith('_headers')) {
      if (side.headers !== 'asked') this.faults.push(`${answer.kind} not asked for`);
      side.headers = 'answered';
      if (body !== undefined && 'change' in answer && answer.change.replace !== true)
        this.faults.push('body in a head');
    } else if (answer.kind.endsWith('_trailers')) {
      if (side.trailers !== 'asked' || side.headers !== 'answered') this.faults.push(`${answer.kind} not asked for`);
      if (side.ended) this.faults.push('trailers after the end');
      side.trailers = 'answered';
    } else this.#bodyAnswered(answer.kind, side, body);
  }

  #bodyAnswered(
    kind: string,
    side: Direction,
    body: { readonly kind: string; readonly bytes: { readonly length: number }; readonly end?: boolean } | undefined,
  ): void {
    if (this.#level === 'attempt') this.faults.push('a body answered by a try');
    if (side.headers !== 'answered' || side.headOnly || side.bodies === 0) {
      this.faults.push(`${kind} not asked for`);
    }
    if (side.ended || side.trailers === 'answered') this.faults.push(`${kind} after the end`);
    const buffered = this.#buffered && side === this.request;
    if (body === undefined || (body.kind === 'whole') !== buffered) this.faults.push(`wrong kind of ${kind}`);
    if (buffered && side.bodyAnswers > 0) this.faults.push(`${kind} twice`);
    if (!buffered && body !== undefined && body.bytes.length > 65536) this.faults.push(`${kind} too long`);
    side.bodyAnswers++;
    if (body?.end === true) side.ended = true;
    if (body?.end === true && side.trailers === 'asked') this.faults.push('end of stream with trailers to come');
  }
}
