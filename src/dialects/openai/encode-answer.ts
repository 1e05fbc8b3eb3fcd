import type { ChatEvent, ResponseEncoder } from '../../core/dialect.ts';

/** Passes a whole answer on, or the error in its place. */
export class AnswerEncoder implements ResponseEncoder {
  readonly contentType = 'application/json';
  #over = false;

  write(events: readonly ChatEvent[]): Buffer[] {
    const out: Buffer[] = [];
    for (const event of events) {
      if (this.#over) break;
      if (event.kind === 'answer') out.push(event.data);
      else if (event.kind === 'error') out.push(event.raw ?? Buffer.from(JSON.stringify(event.error)));
      else continue;
      this.#over = true;
    }
    return out;
  }
}
