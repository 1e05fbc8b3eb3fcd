/*
 * What one chat costs inside the gateway, without gRPC and Envoy: from the head of the request to the settlement.
 * `node bench/micro/request-flow.ts [minimal] [redis] [audit] [stream] [prompt=BYTES]`. Prints CPU a request and round; ends by
 * itself. Run it with `--cpu-prof` to see where the time goes. `serve`: a line on standard input asks for a round of so many
 * requests (see paired.ts).
 */
import { createInterface } from 'node:readline';
import { openFlow } from './flow-under-test.ts';

const ROUNDS = 10;
const REQUESTS = 4000;
/** Under way at once, as on a gateway under load. */
const AT_ONCE = 16;

const words = process.argv.slice(2);
const promptBytes = Number(words.find((word) => word.startsWith('prompt='))?.slice(7) ?? 200);
const flow = await openFlow({
  everything: !words.includes('minimal'),
  redis: words.includes('redis'),
  audit: words.includes('audit'),
  chunks: words.includes('stream') ? 100 : 0,
  promptBytes,
});

const { path, headers, body } = chatPayload({ name: 'plain', promptBytes: 200 });
const fields: readonly HeaderPair[] = [
  [':method', 'POST'],
  [':path', path],
  [':scheme', 'http'],
  ...Object.entries(headers),
  ['content-length', String(body.length)],
];
const answerHead = {
  status: 200,
  headers: new HeaderList([
    [':status', '200'],
    ['content-type', 'application/json'],
  ]),
};
const answer = Buffer.from(
  '{"id":"chatcmpl-bench","object":"chat.completion","created":1764480000,"model":"bench-model","choices":[{"index":0,"message":{"role":"assistant","content":"Hello there."},"finish_reason":"stop"}],"usage":{"prompt_tokens":24,"completion_tokens":100,"total_tokens":124}}',
);
const nothing = Buffer.alloc(0);
let count = 0;

async function request(): Promise<void> {
  count += 1;
  const head = { method: 'POST', path, headers: new HeaderList([...fields, ['x-request-id', `request-${count}`]]) };
  const exchange = gateway.requestFactory({}, { push() {} });
  await exchange.onRequestHead(head, false);
  const forward = await exchange.onRequestBody(body, true);
  if (forward.kind !== 'forward') throw new Error(`not sent on: ${JSON.stringify(forward)}`);
  const told = forward.mutation.metadata?.['tokenlat.request'] as { readonly id: string } | undefined;
  const attempt = gateway.attempt(told?.id ?? '', 'bench-backend', true);
  if (attempt === null) throw new Error('the request is not known');
  await attempt.onRequestHead(head);
  exchange.onResponseHead(answerHead, false);
  exchange.onResponseBody(answer, false);
  const end = exchange.onResponseBody(nothing, true);
  if (end.kind !== 'send' || !end.end) throw new Error(`no answer: ${JSON.stringify(end)}`);
  attempt.close();
  exchange.close();
}

for (let round = 1; round <= ROUNDS; round += 1) {
  const before = process.cpuUsage();
  let left = requests;
  const run = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await flow.request();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, run));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / requests;
}

if (words.includes('serve')) {
  for await (const line of createInterface({ input: process.stdin })) console.log(String(await round(Number(line))));
} else {
  const requests = Math.max(20, Math.round(REQUESTS / (1 + promptBytes / 8192) / (words.includes('stream') ? 4 : 1)));
  for (let at = 1; at <= ROUNDS; at += 1)
    console.log(`round ${at}: ${(await round(requests)).toFixed(1)} µs CPU a request`);
}
await flow.close();
process.exit();
