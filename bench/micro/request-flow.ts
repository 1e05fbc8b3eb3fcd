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

/** Microseconds of CPU a request. */
async function round(requests: number): Promise<number> {
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
