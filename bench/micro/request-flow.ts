/*
 * What one plain chat costs inside the gateway, without gRPC, Envoy and Redis: from the head of the request to the settlement.
 * `node bench/micro/request-flow.ts [everything|minimal]`. Prints CPU a request and round; ends by itself. Run it with
 * `--cpu-prof` to see where the time goes.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDialects } from '../../src/app/dialects.ts';
import { silentAudit } from '../../src/app/open-audit.ts';
import { createGateway } from '../../src/app/gateway.ts';
import { load } from '../../src/app/load.ts';
import { HeaderList, type HeaderPair } from '../../src/core/http.ts';
import { NO_PROTECTION } from '../../src/core/ports/budget-state.ts';
import { createEngine } from '../../src/routing/engine.ts';
import { NO_SURGE } from '../../src/core/ports/surge.ts';
import { createLiveFigures } from '../../src/control/live/live-figures.ts';
import { systemClock } from '../../src/core/ports/clock.ts';
import { CONFIGURED_STAGES } from '../../src/core/ports/stage-view.ts';
import { NO_DIRECTORY } from '../../src/core/ports/directory-view.ts';
import { createMemoryStores } from '../../src/store/memory/memory-stores.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { chatPayload } from '../payload.ts';
import { gatewayConfig } from '../setups/gateway-config.ts';

const ROUNDS = 10;
const REQUESTS = 4000;

const everything = process.argv[2] !== 'minimal';
const dir = mkdtempSync(join(tmpdir(), 'tokenlat-micro-'));
const config = join(dir, 'tokenlat.yaml');
const places = { listen: 10001, admin: 10002, ops: 10003, model: 10004, socketDir: dir, redis: null };
writeFileSync(config, gatewayConfig({ workers: 1, everything }, places));
const { snapshot } = load(config);
const gateway = createGateway({
  config: () => snapshot,
  stores: createMemoryStores({ clock: systemClock, ledger: snapshot.ledger }),
  dialects: createDialects({ templates: null }),
  worker: 0,
  workers: 1,
  log: createLog({ level: snapshot.telemetry.logLevel, destination: join(dir, 'log') }),
  metrics: createMetrics({ labelValues: snapshot.telemetry.labelValues }),
  figures: createLiveFigures({ clock: systemClock }),
  engine: createEngine(),
  surge: NO_SURGE,
  clock: systemClock,
  mayWatchBody: () => false,
  audit: silentAudit,
  keys: { find: () => null },
  directory: NO_DIRECTORY,
  protection: NO_PROTECTION,
  stages: CONFIGURED_STAGES,
  state: { kept: () => 'kept', epoch: () => null },
});
await gateway.prefetch(snapshot);

const { path, headers, body } = chatPayload('plain', 200, false);
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
  for (let again = 0; again < REQUESTS; again += 1) await request();
  const { user, system } = process.cpuUsage(before);
  console.log(`round ${round}: ${((user + system) / REQUESTS).toFixed(1)} µs CPU a request`);
}
rmSync(dir, { recursive: true, force: true });
process.exit();
