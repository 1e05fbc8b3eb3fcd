/*
 * The server of wire.ts: a gateway behind its gRPC server, on the socket file that is named. Says its CPU time, microseconds,
 * whenever it is sent a message.
 */
import { createExtProcServer } from '../../src/extproc/server.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { openGateway } from './flow-under-test.ts';

const [path = '', ...words] = process.argv.slice(2);
const { gateway } = await openGateway({ everything: !words.includes('minimal') });
const server = createExtProcServer({
  bind: { kind: 'unix', path },
  grpc: 'lean',
  requestFactory: gateway.requestFactory,
  attemptFactory: (id) => {
    const attempt = gateway.attempt(id, 'bench-backend', true);
    if (attempt === null) throw new Error('the request is not known');
    return attempt;
  },
  onUpstreamCut: () => {},
  underWay: () => gateway.live.size,
  limits: { messageBytes: 64 * 1024 * 1024, streams: 1000 },
  log: createLog({ level: 'error' }),
  metrics: createMetrics({ labelValues: 100 }),
});
await server.start();
const say = (what: object): void => void process.send?.(what);
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  say({ cpuUs: user + system });
});
process.once('disconnect', () => process.exit());
say({ ready: true });
