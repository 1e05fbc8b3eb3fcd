/*
 * What one chat costs inside the gateway, without gRPC and Envoy: from the head of the request to the settlement.
 * `node bench/micro/request-flow.ts [minimal] [redis] [audit] [stream] [prompt=BYTES] [limits=none|some|all] [tenants=N]`.
 * Prints CPU a request and round, of this process and of its Redis; ends by itself. Run it with `--cpu-prof` to see where the
 * time goes. `serve`: a line on standard input asks for a round of so many requests (see paired.ts).
 */
import { createInterface } from 'node:readline';
import { processFigures } from '../process-figures.ts';
import type { LimitsOn } from '../setups/gateway-config.ts';
import { openFlow } from './flow-under-test.ts';

const ROUNDS = 10;
const REQUESTS = 4000;
/** Under way at once, as on a gateway under load. */
const AT_ONCE = 16;

const words = process.argv.slice(2);
const valueOf = (name: string): string | undefined =>
  words.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1);
const promptBytes = Number(valueOf('prompt') ?? 200);
const flow = await openFlow({
  everything: !words.includes('minimal'),
  redis: words.includes('redis'),
  audit: words.includes('audit'),
  chunks: words.includes('stream') ? 100 : 0,
  promptBytes,
  limits: (valueOf('limits') ?? 'some') as LimitsOn,
  tenants: Number(valueOf('tenants') ?? 0),
});

/** Microseconds of CPU. */
const redisCpu = (): number => (flow.redisPid === null ? 0 : processFigures(flow.redisPid).cpuMs * 1000);

/** Microseconds of CPU a request: ours and those of Redis. */
async function round(requests: number): Promise<readonly [own: number, redis: number]> {
  const redisBefore = redisCpu();
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
  return [(user + system) / requests, (redisCpu() - redisBefore) / requests];
}

if (words.includes('serve')) {
  for await (const line of createInterface({ input: process.stdin }))
    console.log((await round(Number(line))).join(' '));
} else {
  const requests = Math.max(20, Math.round(REQUESTS / (1 + promptBytes / 8192) / (words.includes('stream') ? 4 : 1)));
  for (let at = 1; at <= ROUNDS; at += 1)
    console.log(
      `round ${at}: ${(await round(requests)).map((cpu) => cpu.toFixed(1)).join(' µs CPU a request, Redis ')} µs`,
    );
}
await flow.close();
process.exit();
