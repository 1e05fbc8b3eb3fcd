import { Client, type ClientDuplexStream, credentials, Metadata } from '@grpc/grpc-js';
import { referenceCheck, referenceProcess } from './ext-proc-reference.ts';

export type Answer = Readonly<Record<string, unknown>>;
type Call = ClientDuplexStream<object, Answer>;

/** An Envoy of our own making: grpc-js with the reference codec. */
export class ExtProcClient {
  readonly client: Client;

  constructor(address: string, channel: ReturnType<typeof credentials.createInsecure> = credentials.createInsecure()) {
    this.client = new Client(address, channel, {
      'grpc.use_local_subchannel_pool': 1,
      'grpc.max_receive_message_length': -1,
      'grpc.enable_retries': 0,
    });
  }

  open(level = 'request', extra: Readonly<Record<string, string>> = {}): Call {
    const metadata = new Metadata();
    if (level !== '') metadata.set('tokenlat-level', level);
    for (const [key, value] of Object.entries(extra)) metadata.set(key, value);
    const call = this.client.makeBidiStreamRequest(
      '/envoy.service.ext_proc.v3.ExternalProcessor/Process',
      referenceProcess.requestSerialize,
      referenceProcess.responseDeserialize as (bytes: Buffer) => Answer,
      metadata,
    );
    call.on('error', () => {});
    return call;
  }

  check(service = ''): Promise<object | undefined> {
    return new Promise((resolve, reject) => {
      this.client.makeUnaryRequest(
        '/grpc.health.v1.Health/Check',
        referenceCheck.requestSerialize,
        referenceCheck.responseDeserialize,
        { service },
        (error, answer) => (error === null ? resolve(answer) : reject(error)),
      );
    });
  }

  close(): void {
    this.client.close();
  }
}

export const duplexModes = { request_body_mode: 4, response_body_mode: 4 };

export const headersOf = (fields: Readonly<Record<string, string>>): object => ({
  headers: Object.entries(fields).map(([key, value]) => ({ key, raw_value: Buffer.from(value) })),
});

/** The status that a call ends with. */
export function statusOf(call: Call): Promise<number> {
  return new Promise((resolve) => call.on('status', ({ code }: { code: number }) => resolve(code)));
}

/** The next message of a call, or null when it ended before one. */
export function nextAnswer(call: Call): Promise<Answer | null> {
  return new Promise((resolve) => {
    const done = (answer: Answer | null): void => {
      call.off('data', done);
      call.off('status', ended);
      resolve(answer);
    };
    const ended = (): void => done(null);
    call.on('data', done);
    call.on('status', ended);
  });
}

/** One whole good exchange: a request without a body that is sent on. Gives the milliseconds that it took. */
export async function goodCall(client: ExtProcClient): Promise<number> {
  const began = performance.now();
  const call = client.open();
  call.write({
    request_headers: { headers: headersOf({ ':method': 'GET', ':path': '/' }), end_of_stream: true },
    protocol_config: duplexModes,
  });
  const answer = await nextAnswer(call);
  call.end();
  await statusOf(call);
  if (answer === null || !('request_headers' in answer)) throw new Error(`no good answer: ${JSON.stringify(answer)}`);
  return performance.now() - began;
}

/** Milliseconds of the fastest of some good calls: one may wait for the machine, and only what lasts is slowness. */
export async function soonestCall(client: ExtProcClient, enoughMs: number): Promise<number> {
  let least = Infinity;
  for (let calls = 0; calls < 20 && least >= enoughMs; calls += 1) least = Math.min(least, await goodCall(client));
  return least;
}
