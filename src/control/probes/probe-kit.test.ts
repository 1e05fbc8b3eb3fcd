/** What the tests of this folder look at and with. */
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { HeaderList } from '../../core/http.ts';
import type { Place } from '../../core/decision.ts';
import { nameOf } from '../../core/places.ts';
import { microUnits } from '../../core/money.ts';
import type { Log } from '../../core/ports/telemetry.ts';
import type { Probes } from '../../core/probes.ts';
import type { Backend, Deployment, Model, Snapshot } from '../../core/snapshot.ts';
import { Findings } from '../../routing/findings.ts';
import type { Answered } from '../http/ask.ts';

const noop = (): void => {};
export const silentLog: Log = { debug: noop, info: noop, warn: noop, error: noop };

export const PACED = { intervalMs: 5000, timeoutMs: 1000, failures: 3, successes: 2 };

export const SCRAPED = { url: 'http://10.0.0.9:9400/metrics', intervalMs: 1000, timeoutMs: 500, staleMs: 30_000 };
export const GPU = {
  ...SCRAPED,
  labels: [],
  maxCelsius: 75,
  hysteresis: 5,
  pcieReplays: 100,
  panicShare: 0.5,
} as const;

export function probesOf(changes: Partial<Probes> = {}): Probes {
  return {
    allowLinkLocal: false,
    network: null,
    service: null,
    model: null,
    metrics: null,
    models: null,
    gpu: null,
    ...changes,
  };
}

export function backend(name: string, probes: Probes | null = null, changes: Partial<Backend> = {}): Backend {
  return {
    name,
    dialect: 'openai',
    endpoints: [{ host: '10.0.0.1', port: 8000, weight: 1 }],
    basePath: '/v1',
    tls: false,
    http2: false,
    health: null,
    credentials: [['authorization', 'Bearer ours']],
    headers: [],
    options: {},
    ...(probes === null ? {} : { probes }),
    ...changes,
  };
}

export function deployment(model: string, on: Backend): Deployment {
  const price = microUnits(1_000_000);
  return {
    id: `${model}@${on.name}`,
    model,
    backend: on,
    upstreamModel: `${model}-there`,
    weight: 1,
    chatTemplate: null,
    price: { currency: 'USD', promptPerMtok: price, cachedPerMtok: price, completionPerMtok: price },
    profile: {
      p95Ms: null,
      firstTokenMs: null,
      tokenMs: null,
      quality: 0.5,
      qualityFor: new Map(),
      context: 0,
      defaultMaxTokens: 16,
    },
    concurrency: null,
    costTier: 'standard',
  };
}

/** One model on all of these backends. */
export function configOf(...backends: readonly Backend[]): Pick<Snapshot, 'backends' | 'models' | 'limits'> {
  const model: Model = {
    name: 'm',
    stage: 'full',
    balance: 'weight',
    affinity: 'none',
    deployments: backends.map((on) => deployment('m', on)),
    fallback: [],
  };
  return {
    backends: new Map(backends.map((each) => [each.name, each])),
    models: new Map([['m', model]]),
    limits: {
      bodyBytes: 1e6,
      responseBytes: 1e6,
      eventBytes: 1e6,
      headerBytes: 1e4,
      jsonDepth: 64,
      jsonKeys: 1000,
    },
  };
}

export const incarnationOf = (place: Place): string => nameOf(place);

/** A desk with a clock that stands still until it is set. */
export function desk() {
  const clock = { at: 1_000_000, now: () => clock.at, time: () => 1_700_000_000_000 + clock.at };
  const findings = new Findings();
  const shown = (id: string, source: Parameters<typeof findings.get>[1]): string => {
    const found = findings.get(id, source, clock.at);
    return found === null ? 'well' : `${Math.round(found.factor * 100) / 100} ${found.reason}`;
  };
  return { clock, findings, shown };
}

export function answer(status: number, body = '', type = 'application/json'): Answered {
  return { head: { status, headers: new HeaderList([['content-type', type]]) }, body: Buffer.from(body) };
}

/** What an exporter says of some GPUs. */
export function dcgm(
  ...gpus: readonly { celsius?: number; xid?: number; replays?: number; throttle?: number; labels?: string }[]
): string {
  const lines = gpus.flatMap(({ celsius = 40, xid = 0, replays = 0, throttle = 0, labels }, at) => {
    const who = `gpu="${at}",UUID="GPU-${at}",device="nvidia${at}",modelName="NVIDIA H100 80GB HBM3",Hostname="node-1"${labels ?? ''}`;
    return [
      `DCGM_FI_DEV_GPU_TEMP{${who}} ${celsius}`,
      `DCGM_FI_DEV_XID_ERRORS{${who}} ${xid}`,
      `DCGM_FI_DEV_PCIE_REPLAY_COUNTER{${who}} ${replays}`,
      `DCGM_FI_DEV_CLOCK_THROTTLE_REASONS{${who}} ${throttle}`,
      `DCGM_FI_DEV_GPU_UTIL{${who}} 97`,
    ];
  });
  return `# HELP DCGM_FI_DEV_GPU_TEMP GPU temperature (in C).\n# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n${lines.join('\n')}\n`;
}

test('the kit makes a backend with a model on it', () => {
  assert.equal(configOf(backend('b')).models.get('m')?.deployments[0]?.id, 'm@b');
});
