import type { ChatEvent, ResponseDecoder } from '../../core/dialect.ts';
import type { ResponseHead } from '../../core/http.ts';
import { failureOfStatus, invalidAnswer } from './upstream-error.ts';

/** Stands for an answer that is not read at all: the failure is told once, at the first sign of life. */
export class RefusedAnswer implements ResponseDecoder {
  readonly #head: ResponseHead;
  readonly #message: string;
  #told = false;

  constructor(head: ResponseHead, message: string) {
    this.#head = head;
    this.#message = message;
  }

  push(): readonly ChatEvent[] {
    return this.end();
  }

  end(): readonly ChatEvent[] {
    if (this.#told) return [];
    this.#told = true;
    const good = this.#head.status >= 200 && this.#head.status < 300;
    // A status that says what is wrong is worth more than the coding that hides the details.
    const error = good ? invalidAnswer(this.#message) : failureOfStatus(this.#head, Buffer.alloc(0)).error;
    return [{ kind: 'error', error, usage: null }];
  }
}
