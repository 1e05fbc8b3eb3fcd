import type { MalformedMessage } from '../../src/extproc/codec/malformed-message.ts';
import { type BodyMode, type MessageKind, ProcessingRequest } from '../../src/extproc/codec/processing-request.ts';
import type { ProcessingResponse } from '../../src/extproc/codec/processing-response.ts';
import type { ProcessCall, ProcessListener } from '../../src/extproc/drive-stream.ts';

/** A call as a server gives it to a method, without a network: what is said, written and ended can be looked at. */
export class FakeProcessCall implements ProcessCall {
  readonly written: ProcessingResponse[] = [];
  /** gRPC status that the call ended with; null while it is open. */
  status: number | null = null;
  details = '';
  /** Bytes that the peer has not read. */
  held = 0;
  paused = false;
  faults: string[] = [];
  listener: ProcessListener | null = null;
  readonly #inbox: (ProcessingRequest | MalformedMessage | 'end')[] = [];
  #isClosed = false;

  get waiting(): number {
    return this.#inbox.length;
  }

  metadata(): string {
    return '';
  }

  say(message: ProcessingRequest | MalformedMessage): void {
    this.#inbox.push(message);
    this.#pump();
  }

  halfClose(): void {
    this.#inbox.push('end');
    this.#pump();
  }

  /** The call is gone, as it is at the end of every one. */
  cancel(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.listener?.onClose();
  }

  write(message: ProcessingResponse): void {
    if (this.status !== null) this.faults.push('write after the end');
    this.written.push(message);
  }

  unsent(): number {
    return this.held;
  }

  end(code: number, details: string): void {
    if (this.status !== null) this.faults.push('ended twice');
    this.status ??= code;
    this.details = details;
  }

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
    this.#pump();
  }

  #pump(): void {
    while (!this.paused && !this.#isClosed && this.status === null) {
      const next = this.#inbox.shift();
      if (next === undefined) return;
      if (next === 'end') this.listener?.onEnd();
      else this.listener?.onMessage(next);
    }
  }
}

export interface MessageParts {
  readonly headers?: readonly (readonly [string, string])[];
  readonly body?: Uint8Array;
  readonly end?: boolean;
  readonly modes?: readonly [request: BodyMode, response: BodyMode] | undefined;
}

/** A message as the codec gives it. */
export function message(
  kind: MessageKind,
  { headers = [], body, end = false, modes }: MessageParts = {},
): ProcessingRequest {
  const made = new ProcessingRequest();
  made.kind = kind;
  made.headers = headers;
  if (body !== undefined) made.body = Buffer.from(body);
  made.endOfStream = end;
  if (modes !== undefined) made.protocol = { requestBody: modes[0], responseBody: modes[1], eagerBody: true };
  return made;
}
