import type { MessageKind, ProcessingRequest } from './codec/processing-request.ts';
import { StreamFault } from './stream-fault.ts';

/** How far one direction has come. */
type Reached = 'nothing' | 'headers' | 'end';

/**
 * What Envoy may say, and when: headers, then bodies, then trailers, each direction for itself. A response without a
 * request is legal: another filter answered before ours saw it.
 */
export class MessageOrder {
  #request: Reached = 'nothing';
  #response: Reached = 'nothing';

  /**
   * True for a message to act on. False for a body after the end, which some versions of Envoy send twice
   * (envoyproxy/envoy#46237), and for what we do not know. Throws `StreamFault` for what no Envoy sends.
   */
  admit(message: ProcessingRequest): boolean {
    const { kind } = message;
    switch (kind) {
      case 'none':
        return false;
      case 'request_headers':
        if (this.#request !== 'nothing' || this.#response !== 'nothing') throw outOfOrder(kind);
        this.#request = message.endOfStream ? 'end' : 'headers';
        return true;
      case 'response_headers':
        if (this.#response !== 'nothing') throw outOfOrder(kind);
        this.#response = message.endOfStream ? 'end' : 'headers';
        return true;
      case 'request_body':
      case 'request_trailers': {
        const before = this.#request;
        this.#request = after(before, message);
        return before === 'headers';
      }
      case 'response_body':
      case 'response_trailers': {
        const before = this.#response;
        this.#response = after(before, message);
        return before === 'headers';
      }
    }
  }
}

function after(before: Reached, { kind, endOfStream }: ProcessingRequest): Reached {
  const body = kind === 'request_body' || kind === 'response_body';
  if (before === 'nothing' || (before === 'end' && !body)) throw outOfOrder(kind);
  return body && !endOfStream ? before : 'end';
}

function outOfOrder(kind: MessageKind): StreamFault {
  return new StreamFault('invalid', `${kind} out of order`);
}
