/*
 * What one chat costs in the gateway behind its gRPC server, as Envoy would ask it, without Envoy: both streams of a request, its
 * body in one message, and a whole answer. `node bench/micro/wire.ts [minimal] [prompt=BYTES]`. Prints CPU a request of the
 * server's process alone; ends by itself. `serve`: see paired.ts.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { duplexModes, headersOf } from '../../test/support/ext-proc-client.ts';
import { referenceProcess } from '../../test/support/ext-proc-reference.ts';
import { frame } from '../../test/support/raw-grpc-frames.ts';
import { chatPayload } from '../payload.ts';

const ROUNDS = 10;
const REQUESTS = 2000;
const AT_ONCE = 4;
/** What Envoy is told to take. */
const WINDOW = 16 * 1024 * 1024;
const PREFIX = 5;
const PATH = '/envoy.service.ext_proc.v3.ExternalProcessor/Process';
const WHOLE = Buffer.from(
  '{"id":"chatcmpl-bench","object":"chat.completion","created":1764480000,"model":"bench-model","choices":[{"index":0,"message":{"role":"assistant","content":"Hello there."},"finish_reason":"stop"}],"usage":{"prompt_tokens":24,"completion_tokens":100,"total_tokens":124}}',
);

const words = process.argv.slice(2);
const promptBytes = Number(words.find((word) => word.startsWith('prompt='))?.slice(7) ?? 200);
const { path, headers, body } = chatPayload({ name: 'plain', promptBytes });
const message = (value: object): Buffer => frame(referenceProcess.requestSerialize(value));
const head = headersOf({
  ':method': 'POST',
  ':path': path,
  ':scheme': 'http',
  ...headers,
  'content-length': String(body.length),
});
const requestHead = message({ request_headers: { headers: head }, protocol_config: duplexModes });
const requestBody = message({ request_body: { body, end_of_stream: true } });
const tryHead = message({
  request_headers: { headers: head },
  protocol_config: { request_body_mode: 0, response_body_mode: 0 },
});
const answer = [
  message({ response_headers: { headers: headersOf({ ':status': '200', 'content-type': 'application/json' }) } }),
  message({ response_body: { body: WHOLE } }),
  message({ response_body: { end_of_stream: true } }),
];

/** A stream of ours, and what comes on it message by message. */
class Stream {
  readonly #stream: ClientHttp2Stream;
  #pieces: Buffer[] = [];
  #size = 0;
  #wake: () => void = () => {};

  constructor(session: ClientHttp2Session, metadata: Readonly<Record<string, string>>) {
    const fixed = { ':method': 'POST', ':path': PATH, 'content-type': 'application/grpc', te: 'trailers' };
    this.#stream = session.request({ ...fixed, ...metadata });
    this.#stream.on('error', () => {});
    this.#stream.on('data', (piece: Buffer) => {
      this.#pieces.push(piece);
      this.#size += piece.length;
      this.#wake();
    });
  }

  say(messages: readonly Buffer[]): void {
    for (const one of messages) this.#stream.write(one);
  }

  async next(): Promise<Buffer> {
    await this.#has(PREFIX);
    const size = PREFIX + this.#joined().readUInt32BE(1);
    await this.#has(size);
    const all = this.#joined();
    this.#pieces = [all.subarray(size)];
    this.#size -= size;
    return all.subarray(PREFIX, size);
  }

  /** Not by a reset: trailers that come for closed streams are counted as glitches, and end the session at some time. */
  close(): void {
    this.#stream.end();
  }

  async #has(size: number): Promise<void> {
    while (this.#size < size) await new Promise<void>((resolve) => (this.#wake = resolve));
  }

  #joined(): Buffer {
    const all = Buffer.concat(this.#pieces);
    this.#pieces = [all];
    return all;
  }
}

async function request(session: ClientHttp2Session): Promise<void> {
  const stream = new Stream(session, { 'tokenlat-level': 'request' });
  stream.say([requestHead, requestBody]);
  const told = JSON.stringify(referenceProcess.responseDeserialize(await stream.next()));
  const id = /"id":\{[^}]*"stringValue":"([^"]+)"|"id":\{[^}]*"string_value":"([^"]+)"/.exec(told);
  if (id === null) throw new Error(`not sent on: ${told}`);
  await stream.next();
  const attempt = new Stream(session, { 'tokenlat-level': 'attempt', 'tokenlat-id': id[1] ?? id[2] ?? '' });
  attempt.say([tryHead]);
  await attempt.next();
  stream.say(answer);
  await stream.next();
  await stream.next();
  attempt.close();
  stream.close();
}

const dir = mkdtempSync(join(tmpdir(), 'tokenlat-wire-'));
const socket = join(dir, 'socket');
const server = fork(join(import.meta.dirname, 'wire-main.ts'), [socket, ...words], {
  execArgv: [...process.execArgv, '--max-semi-space-size=64'],
});
await once(server, 'message');
const session = connect('http://gateway', {
  createConnection: () => connectSocket(socket),
  settings: { initialWindowSize: WINDOW },
});
await once(session, 'connect');
session.setLocalWindowSize(WINDOW);

async function cpuUs(): Promise<number> {
  server.send({});
  const [said] = (await once(server, 'message')) as [{ readonly cpuUs: number }];
  return said.cpuUs;
}

/** Microseconds of CPU a request. */
async function round(requests: number): Promise<number> {
  const before = await cpuUs();
  let left = requests;
  const run = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await request(session);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, run));
  return ((await cpuUs()) - before) / requests;
}

if (words.includes('serve')) {
  for await (const line of createInterface({ input: process.stdin })) console.log(String(await round(Number(line))));
} else {
  const requests = Math.max(40, Math.round(REQUESTS / (1 + promptBytes / 65_536)));
  for (let at = 1; at <= ROUNDS; at += 1)
    console.log(`round ${at}: ${(await round(requests)).toFixed(1)} µs CPU a request`);
}
session.destroy();
server.disconnect();
await once(server, 'exit');
rmSync(dir, { recursive: true });
process.exit();
