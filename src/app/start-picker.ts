import { randomBytes, randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { createLiveFigures } from '../control/live/live-figures.ts';
import { systemClock } from '../core/ports/clock.ts';
import type { Log } from '../core/ports/telemetry.ts';
import type { Snapshot } from '../core/snapshot.ts';
import { createOpenAiClient } from '../dialects/openai/dialect.ts';
import { createPickerServer, type PickerServerOptions } from '../extproc/picker-server.ts';
import { createPoolPicker } from '../picker/pool-picker.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { createOpsServer } from '../telemetry/ops-server.ts';
import { createPickMetrics } from '../telemetry/pick-metrics.ts';
import { createProbeMetrics } from '../telemetry/probe-metrics.ts';
import { createDialects } from './dialects.ts';
import { decidedOn } from './follow-stages.ts';
import { configReasons, createLiveConfig } from './live-config.ts';
import type { LoadedConfig } from './load.ts';
import { openRouting } from './open-routing.ts';
import { openStores } from './open-stores.ts';
import { StartupError } from './startup-error.ts';

export interface StartPickerOptions extends Pick<PickerServerOptions, 'address' | 'port' | 'tls' | 'allowPlaintext'> {
  readonly loaded: LoadedConfig;
  /** Name of the pool; null = the only one there is. */
  readonly backend: string | null;
  readonly log: Log;
}

export interface RunningPicker {
  readonly address: string;
  /** @param noticeMs - Time for proxies to see that it leaves. */
  readonly stop: (noticeMs?: number) => Promise<void>;
}

const NOTICE_MS = 1000;
const STORE_WAIT_MS = 2000;

/** Runs an Endpoint Picker for one pool of a configuration. Throws `StartupError` with what to do. */
export async function startPicker(options: StartPickerOptions): Promise<RunningPicker> {
  const { loaded, log } = options;
  const { telemetry, server: settings, limits } = loaded.snapshot;
  const backend = poolOf(loaded.snapshot, options.backend);
  const metrics = createMetrics({ labelValues: telemetry.labelValues });
  const config = createLiveConfig(loaded, log, metrics);
  const stores = openStores(config.current, log, metrics);
  const routing = openRouting({
    config: config.current,
    figures: createLiveFigures({ clock: systemClock }),
    stores,
    replica: `${hostname()}-${randomBytes(3).toString('hex')}`,
    worker: 0,
    holder: `${hostname()}-${process.pid}-${randomUUID()}`,
    log,
    metrics,
    probeFigures: createProbeMetrics({ registry: metrics.registry, labelValues: telemetry.labelValues }),
    dialects: createDialects({ templates: null }),
    clock: systemClock,
  });
  const picker = createPoolPicker({
    config: config.current,
    backend,
    engine: routing.engine,
    clock: systemClock,
    client: createOpenAiClient(),
    count: createPickMetrics(metrics.registry),
  });
  const server = createPickerServer({
    ...options,
    ...picker,
    grpc: settings.grpc,
    bodyBytes: limits.bodyBytes,
    metrics,
  });
  const close = async (): Promise<void> => {
    config.close();
    await routing.close();
    await stores.close();
    metrics.close();
  };
  try {
    await stores.ready(STORE_WAIT_MS);
    await server.start();
    routing.tell(server.streams, () => []);
    config.follow({ prepare: async () => {}, decided: decidedOn(null, config.file) });
    const ops = await createOpsServer({
      ...settings.ops,
      metrics: metrics.exposition,
      health: () => ({
        ready: picker.isReady(),
        reasons: [...(picker.isReady() ? [] : [`no endpoint of ${backend} is fit`]), ...configReasons(config)],
      }),
    });
    return {
      address: server.address(),
      async stop(noticeMs = NOTICE_MS) {
        await server.stop(noticeMs, settings.drainMs);
        await ops.close();
        await close();
      },
    };
  } catch (cause) {
    await server.stop(0, 0);
    await close();
    throw new StartupError(`the picker did not start: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  }
}

function poolOf({ backends }: Snapshot, wanted: string | null): string {
  const pools = [...backends.values()].filter(({ pool }) => pool !== undefined).map(({ name }) => name);
  const [only, ...more] = pools;
  if (wanted !== null && pools.includes(wanted)) return wanted;
  if (wanted !== null)
    throw new StartupError(`${wanted} is no pool of the configuration; there are: ${pools.join(', ') || 'none'}`);
  if (only === undefined) throw new StartupError('no backend of the configuration is a pool: give one pool: {}');
  if (more.length > 0) throw new StartupError(`there are several pools, choose with --backend: ${pools.join(', ')}`);
  return only;
}
