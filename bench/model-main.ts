/*
 * A model server that costs almost nothing: canned answers in the OpenAI dialect over raw sockets. A request with
 * `"stream":true` among its first bytes gets 100 chunks, one every two milliseconds; anything else a plain answer.
 */
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { MessageReader } from './load/message-reader.ts';

const CHUNKS = 100;
const PACE_MS = 2;

const usage = '{"prompt_tokens":24,"completion_tokens":100,"total_tokens":124}';
const plainBody = `{"id":"chatcmpl-bench","object":"chat.completion","created":1764480000,"model":"bench-model","choices":[{"index":0,"message":{"role":"assistant","content":"Hello there."},"finish_reason":"stop"}],"usage":${usage}}`;
const plain = Buffer.from(
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${plainBody.length}\r\n\r\n${plainBody}`,
);
const streamHead = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';
const first = Buffer.from(streamHead + framed(chunk('{"role":"assistant","content":""}', 'null')));
const middle = Buffer.from(framed(chunk('{"content":" word"}', 'null')));
const usageChunk = `data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1764480000,"model":"bench-model","choices":[],"usage":${usage}}\n\n`;
const last = Buffer.from(`${framed(`${chunk('{}', '"stop"')}${usageChunk}data: [DONE]\n\n`)}0\r\n\r\n`);

function chunk(delta: string, finish: string): string {
  return `data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1764480000,"model":"bench-model","choices":[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${finish}}]}\n\n`;
}

function framed(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}

function stream(socket: Socket): void {
  let sent = 1;
  socket.write(first);
  const timer = setInterval(() => {
    sent += 1;
    if (sent < CHUNKS && socket.writable) {
      socket.write(middle);
      return;
    }
    clearInterval(timer);
    if (socket.writable) socket.write(last);
  }, PACE_MS);
}

const server = createServer({ noDelay: true }, (socket) => {
  const reader = new MessageReader();
  socket.on('error', () => socket.destroy());
  socket.on('data', (bytes) => {
    if (!reader.push(bytes)) return;
    if (reader.start.includes('"stream":true')) stream(socket);
    else socket.write(plain);
    reader.reset();
  });
});

server.listen(0, '127.0.0.1', () => process.send?.({ kind: 'ready', port: (server.address() as AddressInfo).port }));
process.once('disconnect', () => process.exit());
