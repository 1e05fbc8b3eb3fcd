import { createHash } from 'node:crypto';
import type { ChatRequest } from '../../core/chat-request.ts';
import type { BackendDialect } from '../../core/dialect.ts';
import type { LedgerEvent } from '../../core/ledger-event.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Log, Metrics } from '../../core/ports/telemetry.ts';
import type { Probes } from '../../core/probes.ts';
import type { Backend, Deployment, Endpoint, Snapshot } from '../../core/snapshot.ts';
import type { Ask, Question } from '../http/ask.ts';
import type { Connect } from '../http/connect.ts';
import { askModel } from './ask-model.ts';
import { probeEvent } from './book-probe.ts';
import { createEndpointProbe } from './endpoint-probe.ts';
import { GpuJudge } from './gpu-judge.ts';
import type { GpuPool } from './gpu-pool.ts';
import type { Look } from './judge.ts';
import type { Probe, ProbeDesk } from './probe.ts';
import { readGpu } from './read-gpu.ts';
import { createModelsProbe } from './models-probe.ts';
import { judgeLoad, readLoad } from './read-load.ts';
import { readAdapters } from './read-models.ts';
import { createScrapeProbe } from './scrape-probe.ts';

export interface MakeProbesOptions extends ProbeDesk {
  readonly incarnationOf: (deployment: Deployment) => string;
  readonly dialects: ReadonlyMap<string, BackendDialect>;
  /** The request of a client that asks a model for a short answer. */
  readonly request: (model: string, maxTokens: number) => ChatRequest;
  readonly ask: Ask;
  readonly connect: Connect;
  /** Whom backends are trusted by with TLS. */
  readonly trust?: Question['trust'];
  readonly gpus: GpuPool;
  /** Takes what a question to a model cost. */
  readonly book: (event: LedgerEvent) => void;
  readonly worker: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'anomaly'>;
}

/** One backend with everything that is to be looked at. */
interface Subject {
  readonly backend: Backend;
  readonly probes: Probes;
  readonly deployments: readonly Deployment[];
  readonly targets: readonly string[];
  readonly config: Pick<Snapshot, 'limits'>;
}

const MAX_HEALTH_BYTES = 65_536;

/** Everything that a configuration wants looked at. Backends that no model is on are left alone. */
export function makeProbes(
  config: Pick<Snapshot, 'backends' | 'models' | 'limits'>,
  options: MakeProbesOptions,
): readonly Probe[] {
  const all = [...config.models.values()].flatMap(({ deployments }) => deployments);
  return [...config.backends.values()].flatMap((backend) => {
    const { probes } = backend;
    const deployments = all.filter((each) => each.backend.name === backend.name);
    if (probes === undefined || deployments.length === 0) return [];
    const targets = deployments.map(options.incarnationOf);
    const subject: Subject = { backend, probes, deployments, targets, config };
    return [
      ...networkProbe(subject, options),
      ...serviceProbe(subject, options),
      ...modelProbes(subject, options),
      ...metricsProbe(subject, options),
      ...modelsProbe(subject, options),
      ...gpuProbe(subject, options),
    ];
  });
}

/** Another configuration is another probe. Secrets are in it, so it is not to be read. */
function keyOf(kind: string, subject: Subject, what: unknown): string {
  const { backend, targets } = subject;
  const { name, endpoints, basePath, tls, http2, credentials, headers, dialect, options } = backend;
  const text = JSON.stringify([endpoints, basePath, tls, http2, credentials, headers, dialect, options, targets, what]);
  return `${name} ${kind} ${createHash('sha256').update(text).digest('base64url')}`;
}

function networkProbe(subject: Subject, { connect, trust, ...desk }: MakeProbesOptions): readonly Probe[] {
  const { backend, probes, targets } = subject;
  const { network, allowLinkLocal } = probes;
  if (network === null) return [];
  const { timeoutMs } = network;
  const { tls, http2 } = backend;
  const lookAt = async ({ host, port }: Endpoint): Promise<Look> => {
    await connect({ tls, http2, host, port, timeoutMs, allowLinkLocal, trust });
    return { up: true, detail: '' };
  };
  const key = keyOf('network', subject, network);
  const about = { key, backend, kind: 'network', reason: 'network_unreachable', isPaid: false } as const;
  return [createEndpointProbe({ ...about, paced: network, targets, lookAt }, desk)];
}

function serviceProbe(subject: Subject, { ask, trust, ...desk }: MakeProbesOptions): readonly Probe[] {
  const { backend, probes, targets } = subject;
  const { service, allowLinkLocal } = probes;
  if (service === null) return [];
  const { timeoutMs, path } = service;
  const headers = [...backend.headers, ...backend.credentials];
  const lookAt = async ({ host, port }: Endpoint): Promise<Look> => {
    const { head } = await ask({
      tls: backend.tls,
      host,
      port,
      path,
      method: 'GET',
      headers,
      body: null,
      timeoutMs,
      maxBytes: MAX_HEALTH_BYTES,
      allowLinkLocal,
      trust,
    });
    return { up: head.status >= 200 && head.status < 300, detail: `answered ${head.status}` };
  };
  const key = keyOf('service', subject, service);
  const about = { key, backend, kind: 'service', reason: 'service_down', isPaid: false } as const;
  return [createEndpointProbe({ ...about, paced: service, targets, lookAt }, desk)];
}

/** One a deployment: models of one server fail one by one. */
function modelProbes(subject: Subject, options: MakeProbesOptions): readonly Probe[] {
  const { backend, probes, config } = subject;
  const { model } = probes;
  const dialect = options.dialects.get(backend.dialect);
  if (model === null || dialect === undefined) return [];
  return subject.deployments.map((deployment) => {
    const { clock, worker, book } = options;
    const lookAt = async (endpoint: Endpoint): Promise<Look> => {
      const time = clock.time();
      const { timeoutMs, maxTokens } = model;
      const asked = { ...options, deployment, dialect, limits: config.limits, timeoutMs, maxTokens };
      const { usage, totalMs, ...look } = await askModel(asked, endpoint);
      if (usage !== null) book(probeEvent(deployment, { usage, isGood: look.up === true, totalMs, time, worker }));
      return look;
    };
    const { upstreamModel, price, chatTemplate } = deployment;
    const key = keyOf(`model ${deployment.id}`, subject, [model, upstreamModel, price, chatTemplate]);
    const about = { key, backend, kind: 'model', reason: 'model_unresponsive', isPaid: true } as const;
    return createEndpointProbe(
      { ...about, paced: model, targets: [options.incarnationOf(deployment)], lookAt },
      options,
    );
  });
}

function metricsProbe(subject: Subject, options: MakeProbesOptions): readonly Probe[] {
  const { backend, probes, targets } = subject;
  const { metrics: scraped, allowLinkLocal } = probes;
  if (scraped === null) return [];
  const { findings } = options;
  const tell = (finding: Parameters<typeof findings.set>[2]): void =>
    targets.forEach((each) => findings.set(each, 'metrics', finding));
  return [
    createScrapeProbe(
      {
        ...options,
        key: keyOf('metrics', subject, scraped),
        backend: backend.name,
        kind: 'metrics',
        scraped,
        allowLinkLocal,
        take(text, until) {
          const load = readLoad(text);
          if (load === null) return false;
          const judged = judgeLoad(load, scraped);
          tell(judged === null ? null : { ...judged, until });
          if (probes.models === null) tellAdapters(text, until, subject, options);
          return true;
        },
        forget: () => tell(null),
      },
      options,
    ),
  ];
}

/** Adapters in use are loaded. What is not in use may be loaded, too: that nobody used it for long, decisions know themselves. */
function tellAdapters(
  text: string,
  until: number,
  { deployments }: Subject,
  { findings, incarnationOf }: MakeProbesOptions,
): void {
  const adapters = readAdapters(text);
  if (adapters === null) return;
  for (const deployment of deployments)
    if (adapters.has(deployment.upstreamModel))
      findings.set(incarnationOf(deployment), 'models', { factor: 1, reason: 'model_loaded', detail: 'in use', until });
}

function modelsProbe(subject: Subject, options: MakeProbesOptions): readonly Probe[] {
  const { backend, probes, deployments } = subject;
  const { models, allowLinkLocal } = probes;
  if (models === null) return [];
  const { ask, trust, incarnationOf } = options;
  const targets = deployments.map((deployment) => ({ deployment, incarnation: incarnationOf(deployment) }));
  const key = keyOf('models', subject, [models, deployments.map(({ upstreamModel }) => upstreamModel)]);
  return [createModelsProbe({ key, backend, models, allowLinkLocal, targets, ask, trust }, options)];
}

function gpuProbe(subject: Subject, options: MakeProbesOptions): readonly Probe[] {
  const { backend, probes, targets } = subject;
  const { gpu, allowLinkLocal } = probes;
  if (gpu === null) return [];
  const { findings, gpus, clock } = options;
  const [target = ''] = targets;
  const judge = new GpuJudge(gpu, findings.get(target, 'gpu', clock.now())?.reason === 'overheated');
  return [
    createScrapeProbe(
      {
        ...options,
        key: keyOf('gpu', subject, gpu),
        backend: backend.name,
        kind: 'gpu',
        scraped: gpu,
        allowLinkLocal,
        take(text, until) {
          const reading = readGpu(text, gpu.labels);
          if (reading === null) return false;
          gpus.report(backend.name, { verdict: judge.see(reading, clock.now()), until });
          return true;
        },
        forget: () => gpus.report(backend.name, null),
      },
      options,
    ),
  ];
}
