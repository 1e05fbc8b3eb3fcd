import type { Arrived, Authenticated, Received } from '../core/context.ts';
import { GatewayError } from '../core/error.ts';
import { newRequestId, type OperationId, operationOf } from '../core/ids.ts';
import type { Jobs } from '../core/job.ts';
import type { AuditLog } from '../core/ports/audit.ts';
import { systemClock } from '../core/ports/clock.ts';
import type { StateKept } from '../core/ports/epoch-store.ts';
import type { DirectoryView } from '../core/ports/directory-view.ts';
import type { JobDesk } from '../core/ports/job-desk.ts';
import type { Log } from '../core/ports/telemetry.ts';
import type { Principal } from '../core/principal.ts';
import { createJobDesk } from '../services/jobs/job-desk.ts';
import { readRequest } from '../services/jobs/job-content.ts';
import { runJobs } from '../services/jobs/run-jobs.ts';
import { createJobSeal, type JobSeal } from '../services/jobs/seal-job.ts';
import { modelAllowed } from '../stations/authenticate/model-allowed.ts';
import { admit } from '../stations/schedule/admission.ts';
import { applyLossRule } from '../stations/schedule/station.ts';
import type { Stores } from '../store/stores.ts';
import { createJobMetrics } from '../telemetry/job-metrics.ts';
import type { PromMetrics } from '../telemetry/metrics.ts';
import type { LiveConfig } from './live-config.ts';
import { sendJob } from './send-job.ts';

export interface OpenJobsOptions {
  readonly config: Pick<LiveConfig, 'current'>;
  readonly stores: Pick<Stores, 'jobs' | 'quota'>;
  readonly operators: { readonly directory: { readonly view: DirectoryView } };
  /** Has the store lost what it held? */
  readonly state: { readonly kept: () => StateKept };
  readonly audit: Pick<AuditLog, 'append'>;
  readonly worker: number;
  readonly holder: string;
  readonly log: Log;
  readonly metrics: PromMetrics;
}

/** A worker's part in jobs. */
export interface OpenedJobs {
  readonly desk: JobDesk;
  /** Whose job it is that shows this `authorization`; null where it is no word of ours. */
  readonly opens: (authorization: string) => Promise<Principal | null> | null;
  /** Begins to run what waits. */
  readonly begin: () => void;
  /** What runs may end within `patienceMs`. */
  readonly close: (patienceMs: number) => Promise<void>;
}

const COUNT_MS = 5000;
const NOTHING = { requests: 0, tokens: 0, spend: 0 };

/** Takes jobs, runs them by way of Envoy, and knows those that it runs. */
export function openJobs(options: OpenJobsOptions): OpenedJobs {
  const { config, stores, audit, worker, holder, log, metrics } = options;
  const figures = createJobMetrics({ registry: metrics.registry });
  const settings = (): Jobs | null => config.current().jobs ?? null;
  const seal = sealOf(settings);
  const release = async (tenant: string, operation: OperationId): Promise<void> => {
    await stores.quota.settle({ operation, tenant, actual: NOTHING, events: [] });
  };
  const renew = async (tenant: string, operation: OperationId, leaseMs: number): Promise<void> => {
    await stores.quota.renew(tenant, operation, leaseMs);
  };
  const desk = createJobDesk({
    settings,
    store: stores.jobs,
    seal,
    reserve: (ctx, operation) => reserve(ctx, operation, options),
    keep: renew,
    release,
    audit,
    count: figures.ended,
    clock: systemClock,
  });
  let running: ReturnType<typeof runJobs> | null = null;
  let timer: NodeJS.Timeout | null = null;
  return {
    desk,
    opens(authorization) {
      if (!authorization.startsWith('Bearer tlj.') || settings() === null) return null;
      return principalOf(authorization.slice('Bearer '.length), seal(), stores);
    },
    begin() {
      const newOperation = (): OperationId => operationOf(newRequestId(worker));
      running = runJobs({
        settings,
        store: stores.jobs,
        seal,
        send: sendJob,
        release,
        hasten: (tenant, operation) => renew(tenant, operation, config.current().ledger.leaseMs),
        newOperation,
        holder,
        count: figures.ended,
        log,
        clock: systemClock,
      });
      timer = setInterval(() => {
        if (settings() !== null) stores.jobs.counts().then(figures.under, () => {});
      }, COUNT_MS);
      timer.unref();
    },
    async close(patienceMs) {
      if (timer !== null) clearInterval(timer);
      await running?.close(patienceMs);
    },
  };
}

/** The seal of the key in force, made once a key. */
function sealOf(settings: () => Jobs | null): () => JobSeal {
  let made: { readonly key: Uint8Array; readonly seal: JobSeal } | null = null;
  return () => {
    const key = settings()?.key;
    if (key === undefined) throw new GatewayError('unknown_endpoint', 'There are no jobs here.');
    if (made?.key !== key) made = { key, seal: createJobSeal(key) };
    return made.seal;
  };
}

async function principalOf(token: string, seal: JobSeal, { jobs }: Pick<Stores, 'jobs'>): Promise<Principal | null> {
  const id = seal.idOf(token);
  const job = id === null ? null : await jobs.get(id);
  if (job === null || job.state !== 'running') return null;
  const { who } = readRequest(seal.open(job.id, job.request));
  return { ...who, job: { id: job.id, operation: job.operation } };
}

/** Takes from every limit what the request may take, until it has run. Throws what it is refused with. */
async function reserve(
  ctx: Arrived & Authenticated & Received,
  operation: OperationId,
  { stores, metrics, operators, state }: Pick<OpenJobsOptions, 'stores' | 'metrics' | 'operators' | 'state'>,
): Promise<void> {
  const { config, principal, request } = ctx;
  if (!modelAllowed(principal, request.model, config))
    throw new GatewayError('model_not_allowed', 'Your credential does not allow this model.', { param: 'model' });
  applyLossRule(ctx, { stateLost: state.kept });
  const verdict = await admit(Object.assign({}, ctx, { operation }), {
    store: stores.quota,
    metrics,
    directory: operators.directory.view,
    // Its place among those that run is taken when it runs.
    part: 'use',
  });
  if (verdict.kind === 'denied') throw verdict.error;
  if (verdict.kind === 'unbooked')
    throw new GatewayError('store_unavailable', 'Limits cannot be checked at the moment. Please try again.', {
      retryAfterMs: 1000,
    });
}
