import { createHash } from 'node:crypto';
import type { ChatRequest } from '../../core/chat-request.ts';
import type { BackendDialect } from '../../core/dialect.ts';
import type { Place } from '../../core/decision.ts';
import type { LedgerEvent } from '../../core/ledger-event.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Log, Metrics } from '../../core/ports/telemetry.ts';
import { isOfEndpoints, type Probes, type Scraped, urlAt } from '../../core/probes.ts';
import { addressOf, type Endpoint } from '../../core/endpoint.ts';
import type { Backend, Deployment, Snapshot } from '../../core/snapshot.ts';
import type { Ask, Question } from '../http/ask.ts';
import type { Connect } from '../http/connect.ts';
import { askEndpoint } from './ask-endpoint.ts';
import { askModel } from './ask-model.ts';
import { probeEvent } from './book-probe.ts';
import { placesOf } from '../../core/places.ts';
import { createEndpointProbe, type EndpointProbeOptions } from './endpoint-probe.ts';
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
  readonly incarnationOf: (place: Place) => string;
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
  /** Incarnations of all its deployments, at all endpoints of a pool. */
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
    const targets = deployments.flatMap((each) => placesOf(each).map(options.incarnationOf));
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

/** Whom what is seen at an endpoint is said of. */
function spokenOf(
  { backend, deployments }: Pick<Subject, 'backend' | 'deployments'>,
  { incarnationOf }: Pick<MakeProbesOptions, 'incarnationOf'>,
): Pick<EndpointProbeOptions, 'targetsAt' | 'isPool'> {
  const isPool = backend.pool !== undefined;
  return {
    isPool,
    targetsAt: (endpoint) =>
      deployments.map((deployment) => incarnationOf(isPool ? { deployment, endpoint } : { deployment })),
  };
}

function networkProbe(subject: Subject, options: MakeProbesOptions): readonly Probe[] {
  const { backend, probes } = subject;
  const { connect, trust } = options;
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
  return [createEndpointProbe({ ...about, ...spokenOf(subject, options), paced: network, lookAt }, options)];
}

function serviceProbe(subject: Subject, options: MakeProbesOptions): readonly Probe[] {
  const { backend, probes } = subject;
  const { ask, trust } = options;
  const { service, allowLinkLocal } = probes;
  if (service === null) return [];
  const { timeoutMs, path } = service;
  const asked = { backend, path, timeoutMs, maxBytes: MAX_HEALTH_BYTES, allowLinkLocal, ask, trust };
  const lookAt = async (endpoint: Endpoint): Promise<Look> => {
    const { head } = await askEndpoint(asked, endpoint);
    return { up: head.status >= 200 && head.status < 300, detail: `answered ${head.status}` };
  };
  const key = keyOf('service', subject, service);
  const about = { key, backend, kind: 'service', reason: 'service_down', isPaid: false } as const;
  return [createEndpointProbe({ ...about, ...spokenOf(subject, options), paced: service, lookAt }, options)];
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
      { ...about, ...spokenOf({ backend, deployments: [deployment] }, options), paced: model, lookAt },
      options,
    );
  });
}

/** Where figures are read, and whom they speak of: all of the backend, or each endpoint by itself. */
interface Part {
  readonly url: string;
  /** `ip:port`; null = all. */
  readonly address: string | null;
  readonly placesOf: (deployment: Deployment) => readonly Place[];
  readonly targets: readonly string[];
}

function partsOf(subject: Subject, scraped: Scraped, options: MakeProbesOptions): readonly Part[] {
  const { backend, targets } = subject;
  if (backend.pool === undefined || !isOfEndpoints(scraped))
    return [{ url: scraped.url, address: null, placesOf, targets }];
  const { targetsAt } = spokenOf(subject, options);
  return backend.endpoints.map((endpoint) => ({
    url: urlAt(scraped.url, endpoint.host),
    address: addressOf(endpoint),
    placesOf: (deployment) => [{ deployment, endpoint }],
    targets: targetsAt(endpoint),
  }));
}

function metricsProbe(subject: Subject, options: MakeProbesOptions): readonly Probe[] {
  const { backend, probes } = subject;
  const { metrics: scraped, allowLinkLocal } = probes;
  if (scraped === null) return [];
  const { findings } = options;
  return partsOf(subject, scraped, options).map((part) => {
    const { url, address, targets } = part;
    const tell = (finding: Parameters<typeof findings.set>[2]): void =>
      targets.forEach((each) => findings.set(each, 'metrics', finding));
    return createScrapeProbe(
      {
        ...options,
        key: keyOf('metrics', subject, [scraped, address]),
        backend: backend.name,
        kind: 'metrics',
        scraped: { ...scraped, url },
        allowLinkLocal,
        take(text, until) {
          const load = readLoad(text);
          if (load === null) return false;
          const judged = judgeLoad(load, scraped);
          tell(judged === null ? null : { ...judged, until });
          if (probes.models === null) tellAdapters(text, until, { ...part, ...subject }, options);
          return true;
        },
        forget: () => tell(null),
      },
      options,
    );
  });
}

/** Adapters in use are loaded. What is not in use may be loaded, too: that nobody used it for long, decisions know themselves. */
function tellAdapters(
  text: string,
  until: number,
  { deployments, placesOf: placesAt }: Pick<Subject, 'deployments'> & Pick<Part, 'placesOf'>,
  { findings, incarnationOf }: MakeProbesOptions,
): void {
  const adapters = readAdapters(text);
  if (adapters === null) return;
  for (const deployment of deployments)
    if (adapters.has(deployment.upstreamModel))
      for (const place of placesAt(deployment))
        findings.set(incarnationOf(place), 'models', { factor: 1, reason: 'model_loaded', detail: 'in use', until });
}

function modelsProbe(subject: Subject, options: MakeProbesOptions): readonly Probe[] {
  const { backend, probes, deployments } = subject;
  const { models, allowLinkLocal } = probes;
  if (models === null) return [];
  const { ask, trust, incarnationOf } = options;
  const names = deployments.map(({ upstreamModel }) => upstreamModel);
  const probeOf = (endpoint: Endpoint | undefined): Probe => {
    const at = endpoint === undefined ? {} : { endpoint };
    const targets = deployments.map((deployment) => ({
      deployment,
      incarnation: incarnationOf({ deployment, ...at }),
    }));
    const key = keyOf('models', subject, [models, names, endpoint ?? null]);
    const asked = endpoint === undefined ? backend : { ...backend, endpoints: [endpoint] };
    return createModelsProbe({ key, backend: asked, models, allowLinkLocal, targets, ask, trust }, options);
  };
  return backend.pool === undefined ? [probeOf(undefined)] : backend.endpoints.map(probeOf);
}

function gpuProbe(subject: Subject, options: MakeProbesOptions): readonly Probe[] {
  const { backend, probes } = subject;
  const { gpu, allowLinkLocal } = probes;
  if (gpu === null) return [];
  const { findings, gpus, clock } = options;
  return partsOf(subject, gpu, options).map(({ url, address, targets: [target = ''] }) => {
    const judge = new GpuJudge(gpu, findings.get(target, 'gpu', clock.now())?.reason === 'overheated');
    const report = (state: Parameters<typeof gpus.report>[1]): void => gpus.report(backend.name, state, address);
    return createScrapeProbe(
      {
        ...options,
        key: keyOf('gpu', subject, [gpu, address]),
        backend: backend.name,
        kind: 'gpu',
        scraped: { ...gpu, url },
        allowLinkLocal,
        take(text, until) {
          const reading = readGpu(text, gpu.labels);
          if (reading === null) return false;
          report({ verdict: judge.see(reading, clock.now()), until });
          return true;
        },
        forget: () => report(null),
      },
      options,
    );
  });
}
