import { EventEmitter } from 'node:events';
import type { MalformedMessage } from '../../src/extproc/codec/malformed-message.ts';
import { type BodyMode, type MessageKind, ProcessingRequest } from '../../src/extproc/codec/processing-request.ts';
import type { ProcessingResponse } from '../../src/extproc/codec/processing-response.ts';
import type { ProcessCall } from '../../src/extproc/drive-stream.ts';

/** A call as grpc-js gives it to a handler, without a network: what is said, written and ended can be looked at. */
export class FakeProcessCall extends EventEmitter {
  readonly written: ProcessingResponse[] = [];
  /** gRPC status that the call ended with; null while it is open. */
  status: number | null = null;
  details = '';
  /** False holds what is written back, as a peer that reads nothing does. */
  flowing = true;
  paused = false;
  faults: string[] = [];
  readonly #inbox: (ProcessingRequest | MalformedMessage | 'end')[] = [];
  readonly #unsent: (() => void)[] = [];

  constructor() {
    super();
    this.on('error', (error: { code: number; details: string }) => {
      this.details = error.details;
      this.#settle(error.code);
    });
  }

  get call(): ProcessCall {
    return this as unknown as ProcessCall;
  }

  get writableNeedDrain(): boolean {
    return false;
  }

  get waiting(): number {
    return this.#inbox.length;
  }

  say(message: ProcessingRequest | MalformedMessage): void {
    this.#inbox.push(message);
    this.#pump();
  }

  halfClose(): void {
    this.#inbox.push('end');
    this.#pump();
  }

  /** As grpc-js does on every call that closes. */
  cancel(): void {
    this.emit('cancelled', 'cancelled');
    this.emit('close');
  }

  write(message: ProcessingResponse, done: () => void): boolean {
    if (this.status !== null) this.faults.push('write after the end');
    this.written.push(message);
    if (this.flowing) queueMicrotask(done);
    else this.#unsent.push(done);
    return true;
  }

  /** The peer reads what was held back. */
  flow(): void {
    this.flowing = true;
    for (const done of this.#unsent.splice(0)) done();
  }

  end(): void {
    this.#settle(0);
  }

  pause(): this {
    this.paused = true;
    return this;
  }

  resume(): this {
    this.paused = false;
    this.#pump();
    return this;
  }

  #settle(code: number): void {
    if (this.status !== null) this.faults.push('ended twice');
    this.status ??= code;
  }

  #pump(): void {
    while (!this.paused) {
      const next = this.#inbox.shift();
      if (next === undefined) return;
      if (next === 'end') this.emit('end');
      else this.emit('data', next);
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
