/*
 * The floor under any ext_proc server on grpc-js: `echo-main SOCKET`. It gives the messages that TokenLat gives, in the same
 * order and of the same bytes, and does nothing else: no decoding, no decision, no encoding.
 */
import { rmSync } from 'node:fs';
import { Server, ServerCredentials, type ServerDuplexStream, type ServiceDefinition } from '@grpc/grpc-js';
import { withRaisedResetLimits } from '../src/extproc/grpc/reset-limits.ts';
import { encodeHealthCheckResponse } from '../src/extproc/codec/health-check.ts';
import { LEVEL_KEY } from '../src/extproc/server.ts';
import type { CannedSet } from './setups/canned.ts';

type Call = ServerDuplexStream<Buffer, Buffer>;

const [socket = ''] = process.argv.slice(2);
const same = (bytes: Buffer): Buffer => bytes;
const bytes = (text: string): Buffer => Buffer.from(text, 'base64');
const service: ServiceDefinition = {
  Process: {
    path: '/envoy.service.ext_proc.v3.ExternalProcessor/Process',
    requestStream: true,
    responseStream: true,
    requestDeserialize: same,
    responseSerialize: same,
    requestSerialize: same,
    responseDeserialize: same,
  },
};

const TAG = { requestHead: 0x12, responseHead: 0x1a, requestBody: 0x22, responseBody: 0x2a } as const;
const EVENT_STREAM = Buffer.from('event-stream');

interface Answers {
  readonly requestHead: Buffer;
  readonly requestBody: readonly Buffer[];
  readonly attempt: Buffer | null;
  readonly responseHead: Buffer;
  readonly first: Buffer;
  readonly middle: Buffer;
  readonly last: Buffer;
}

let sets: Readonly<Record<string, Answers>> = {};
let current: Answers | undefined;

/** Does a body message say that it is the last? Its fields: the bytes (1) and the end (2). */
function isLast(message: Buffer): boolean {
  let at = 1;
  while ((message[at++] ?? 0) >= 0x80);
  if (message[at] === 0x0a) {
    at += 1;
    let length = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = message[at++] ?? 0;
      length |= (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    at += length;
  }
  return message[at] === 0x10 && message[at + 1] === 1;
}

function onRequest(call: Call): void {
  let streamed = false;
  let begun = false;
  call.on('data', (message: Buffer) => {
    if (current === undefined) return;
    switch (message[0] ?? 0) {
      case TAG.requestBody:
        if (!isLast(message)) return;
        call.write(current.requestHead);
        for (const piece of current.requestBody) call.write(piece);
        return;
      case TAG.responseHead:
        streamed = message.includes(EVENT_STREAM);
        return;
      case TAG.responseBody: {
        const last = isLast(message);
        if (!streamed && !last) return;
        if (!begun) call.write(current.responseHead);
        call.write(last ? current.last : begun ? current.middle : current.first);
        begun = true;
      }
    }
  });
}

function onAttempt(call: Call): void {
  call.on('data', () => {
    const answer = current?.attempt ?? null;
    if (answer !== null) call.write(answer);
  });
}

const server = new Server({
  'grpc.max_receive_message_length': -1,
  'grpc.max_send_message_length': -1,
  'grpc.max_concurrent_streams': 100_000,
  'grpc.keepalive_time_ms': 30_000,
  'grpc.keepalive_timeout_ms': 10_000,
  'grpc.enable_channelz': 0,
});
server.addService(service, {
  Process(call: Call) {
    call.on('end', () => call.end());
    call.on('error', () => {});
    if (call.metadata.get(LEVEL_KEY)[0] === 'attempt') onAttempt(call);
    else onRequest(call);
  },
});
const health: ServiceDefinition = {
  Check: {
    path: '/grpc.health.v1.Health/Check',
    requestStream: false,
    responseStream: false,
    requestDeserialize: same,
    responseSerialize: encodeHealthCheckResponse,
    requestSerialize: same,
    responseDeserialize: same,
  },
};
server.addService(health, {
  Check: (_call: unknown, callback: (error: null, serving: boolean) => void) => callback(null, true),
});

process.on('message', (message: { kind: 'load'; sets: CannedSet } | { kind: 'use'; name: string }) => {
  if (message.kind === 'use') current = sets[message.name];
  else {
    sets = Object.fromEntries(
      Object.entries(message.sets).map(([name, { body, ...parts }]) => [
        name,
        {
          requestHead: bytes(parts.requestHead),
          requestBody: parts.requestBody.map(bytes),
          attempt: parts.attempt === null ? null : bytes(parts.attempt),
          responseHead: bytes(parts.responseHead),
          first: bytes(body.first),
          middle: bytes(body.middle),
          last: bytes(body.last),
        },
      ]),
    );
  }
  process.send?.({ kind: 'done' });
});
process.once('disconnect', () => process.exit());

// The recorder has left it.
rmSync(socket, { force: true });
await withRaisedResetLimits(
  () =>
    new Promise<void>((resolve, reject) => {
      server.bindAsync(`unix:${socket}`, ServerCredentials.createInsecure(), (error) =>
        error === null ? resolve() : reject(error),
      );
    }),
);
process.send?.({ kind: 'ready' });
