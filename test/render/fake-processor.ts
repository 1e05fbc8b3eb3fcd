import http2 from 'node:http2';
import type { IncomingHttpHeaders } from 'node:http2';

export interface Call {
  /** Head of the gRPC call: initial metadata. */
  readonly metadata: IncomingHttpHeaders;
  /** First message, as bytes. Names and values in it are plain text. */
  readonly first: Buffer;
}

/** A length-delimited field of protobuf. */
const field = (number: number, body: Uint8Array): Buffer => {
  const length = body.length < 128 ? [body.length] : [(body.length & 0x7f) | 0x80, body.length >> 7];
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), body]);
};

/** `ProcessingResponse.immediate_response` with status 401, this body and these details. */
function refusal(body: string, details: string): Buffer {
  const status = Buffer.from([0x08, 0x91, 0x03]);
  return field(7, Buffer.concat([field(1, status), field(3, Buffer.from(body)), field(5, Buffer.from(details))]));
}

/** Answers each ext_proc call with a refusal of our own, and remembers it. Listens on a unix socket. */
export async function startFakeProcessor(
  socket: string,
  body: string,
): Promise<{ readonly calls: Call[]; readonly close: () => void }> {
  const calls: Call[] = [];
  const sessions = new Set<http2.ServerHttp2Session>();
  const server = http2.createServer();
  server.on('session', (session) => {
    sessions.add(session);
    session.on('close', () => sessions.delete(session));
    session.on('error', () => {});
  });
  server.on('stream', (stream, metadata) => {
    let received = Buffer.alloc(0);
    let answered = false;
    stream.on('error', () => {});
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    if (metadata[':path'] === '/grpc.health.v1.Health/Check') {
      // HealthCheckResponse { status: SERVING }
      stream.end(Buffer.from([0, 0, 0, 0, 2, 0x08, 0x01]));
      return;
    }
    stream.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      const size = received.length < 5 ? Infinity : 5 + received.readUInt32BE(1);
      if (answered || received.length < size) return;
      answered = true;
      calls.push({ metadata, first: received.subarray(5, size) });
      const message = refusal(body, 'invalid_credentials');
      const head = Buffer.alloc(5);
      head.writeUInt32BE(message.length, 1);
      stream.write(Buffer.concat([head, message]));
    });
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  return {
    calls,
    close: () => {
      for (const session of sessions) session.destroy();
      server.close();
    },
  };
}
