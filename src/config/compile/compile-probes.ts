import type { Probes } from '../../core/probes.ts';
import type { ConfigDocument } from '../schema/document.ts';

type Entry = ConfigDocument['backends'][number];

/** Null where a backend is not probed. */
export function compileProbes({ health, allow_link_local: allowLinkLocal }: Entry): Probes | null {
  const { network, service, model, metrics, models, gpu } = health ?? {};
  if ([network, service, model, metrics, models, gpu].every((part) => part === undefined)) return null;
  return {
    allowLinkLocal,
    network: network === undefined ? null : pacedOf(network),
    service: service === undefined ? null : { ...pacedOf(service), path: service.path },
    model: model === undefined ? null : { ...pacedOf(model), maxTokens: model.max_tokens },
    metrics:
      metrics === undefined
        ? null
        : {
            url: metrics.url,
            intervalMs: metrics.interval,
            timeoutMs: metrics.timeout,
            staleMs: metrics.stale,
            queue: metrics.queue,
            cache: metrics.cache,
          },
    models: models === undefined ? null : { path: models.path, intervalMs: models.interval, timeoutMs: models.timeout },
    gpu:
      gpu === undefined
        ? null
        : {
            url: gpu.url,
            intervalMs: gpu.interval,
            timeoutMs: gpu.timeout,
            staleMs: gpu.stale,
            labels: Object.entries(gpu.labels),
            maxCelsius: gpu.max_celsius,
            hysteresis: gpu.hysteresis,
            pcieReplays: gpu.pcie_replays,
            panicShare: gpu.panic_share,
          },
  };
}

function pacedOf({
  interval,
  timeout,
  failures,
  successes,
}: {
  readonly interval: number;
  readonly timeout: number;
  readonly failures: number;
  readonly successes: number;
}): NonNullable<Probes['network']> {
  return { intervalMs: interval, timeoutMs: timeout, failures, successes };
}
