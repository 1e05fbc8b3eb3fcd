/*
 * A model server that costs almost nothing: canned answers in the OpenAI dialect over raw sockets. A prompt begins with
 * what to do: `bench-c100-p2-d0-f20` for 100 chunks, one every two milliseconds, no thinking, and every 20th answer a failure.
 */
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { MessageReader } from './load/message-reader.ts';

/** Embeddings are always of this many texts. */
const INPUTS = 100;
const DIMENSIONS = 64;
const ORDER = /"bench-c(\d+)-p(\d+)-d(\d+)-f(\d+) /;

const usage = '{"prompt_tokens":24,"completion_tokens":100,"total_tokens":124}';
const plain = answered(
  '200 OK',
  `{"id":"chatcmpl-bench","object":"chat.completion","created":1764480000,"model":"bench-model","choices":[{"index":0,"message":{"role":"assistant","content":"Hello there."},"finish_reason":"stop"}],"usage":${usage}}`,
);
const failure = answered(
  '503 Service Unavailable',
  '{"error":{"message":"overloaded","type":"server_error","param":null,"code":null}}',
);
const vector = JSON.stringify(Array.from({ length: DIMENSIONS }, (_, at) => Math.fround(Math.sin(at) / 8)));
const streamHead = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';
const first = Buffer.from(streamHead + framed(chunk('{"role":"assistant","content":""}', 'null')));
const middle = Buffer.from(framed(chunk('{"content":" word"}', 'null')));
const usageChunk = `data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1764480000,"model":"bench-model","choices":[],"usage":${usage}}\n\n`;
const last = Buffer.from(`${framed(`${chunk('{}', '"stop"')}${usageChunk}data: [DONE]\n\n`)}0\r\n\r\n`);
const embedding = (_: unknown, at: number): string => `{"object":"embedding","index":${at},"embedding":${vector}}`;
const embeddings = answered(
  '200 OK',
  `{"object":"list","data":[${Array.from({ length: INPUTS }, embedding).join(',')}],"model":"bench-model","usage":{"prompt_tokens":2000,"total_tokens":2000}}`,
);
let answers = 0;

function answered(status: string, body: string): Buffer {
  const head = `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
  return Buffer.from(head + body);
}

function chunk(delta: string, finish: string): string {
  return `data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1764480000,"model":"bench-model","choices":[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${finish}}]}\n\n`;
}

function framed(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}

function stream(socket: Socket, chunks: number, paceMs: number): void {
  let sent = 1;
  socket.write(first);
  const timer = setInterval(() => {
    sent += 1;
    if (sent < chunks && socket.writable) {
      socket.write(middle);
      return;
    }
    clearInterval(timer);
    if (socket.writable) socket.write(last);
  }, paceMs);
}

function answer(socket: Socket, { head, start }: MessageReader): void {
  if (head.includes('/embeddings ')) {
    socket.write(embeddings);
    return;
  }
  const [chunks = 0, paceMs = 0, delayMs = 0, failEvery = 0] = (ORDER.exec(start) ?? []).slice(1).map(Number);
  answers += 1;
  if (failEvery > 0 && answers % failEvery === 0) socket.write(failure);
  else if (chunks > 0) stream(socket, chunks, paceMs);
  else if (delayMs > 0) setTimeout(() => socket.writable && socket.write(plain), delayMs);
  else socket.write(plain);
}

const server = createServer({ noDelay: true }, (socket) => {
  const reader = new MessageReader();
  socket.on('error', () => socket.destroy());
  socket.on('data', (bytes) => {
    if (!reader.push(bytes)) return;
    answer(socket, reader);
    reader.reset();
  });
});

server.listen(0, '127.0.0.1', () => process.send?.({ kind: 'ready', port: (server.address() as AddressInfo).port }));
process.once('disconnect', () => process.exit());
