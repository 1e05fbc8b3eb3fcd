import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Gauge, Registry } from 'prom-client';
import type { Arrived, RequestContext } from '../core/context.ts';
import type { Ending } from '../core/ending.ts';
import type { LedgerEvent } from '../core/ledger-event.ts';
import type { Metrics } from '../core/ports/telemetry.ts';
import { createLabelBound } from './bounded-labels.ts';
import { type AddTo, createDistribution, createSum } from './series.ts';

/** Options of the metrics. */
export interface MetricsOptions {
  /** Distinct values that one label may take before it says `other`. */
  readonly labelValues: number;
  /** Where the series live; a fresh one by default. */
  readonly registry?: Registry;
}

/** The port, and what a server needs to show it. */
export interface PromMetrics extends Metrics {
  readonly registry: Registry;
  /** Is what the store lost neither rebuilt nor accepted? */
  readonly stateLost: (lost: boolean) => void;
  /** The text format of Prometheus. */
  readonly exposition: () => Promise<string>;
  /** Stops watching the event loop. */
  readonly close: () => void;
}

const SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const STATION_SECONDS = [0.00005, 0.0002, 0.001, 0.005, 0.02, 0.1, 0.5, 2, 10];
const CLASS_SECONDS = [0.00001, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.01];
const WAIT_SECONDS = [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60];
const TOKENS = [1, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576];
const OPERATIONS = { chat: 'chat', completions: 'text_completion', embeddings: 'embeddings' } as const;
const WHO = ['gen_ai_operation_name', 'gen_ai_request_model'] as const;
const WHERE = ['model', 'backend'] as const;

/** The instruments, under the names of the OpenTelemetry GenAI conventions where those have one. */
function instruments(registry: Registry) {
  const counter: MakeCounter = (name, help, labelNames) => createSum({ registry, name, help, labelNames });
  const gauge = <L extends string>(
    name: string,
    help: string,
    labelNames: readonly L[],
    aggregator: 'sum' | 'min' | 'max' = 'sum',
  ): Gauge<L> => new Gauge({ name, help, labelNames: [...labelNames], registers: [registry], aggregator });
  const histogram: MakeHistogram = (name, help, labelNames, bounds) =>
    createDistribution({ registry, name, help, labelNames }, bounds);
  return {
    usage: histogram('gen_ai_client_token_usage', 'Tokens of a request by type', [...WHO, 'gen_ai_token_type'], TOKENS),
    duration: histogram(
      'gen_ai_server_request_duration_seconds',
      'From arrival to the end of the answer',
      WHO,
      SECONDS,
    ),
    firstToken: histogram('gen_ai_server_time_to_first_token_seconds', 'From arrival to the first token', WHO, SECONDS),
    requests: counter('tokenlat_requests_total', 'Finished requests', ['route', ...WHERE, 'status', 'code']),
    stations: histogram(
      'tokenlat_station_seconds',
      'Time in a station, waiting included',
      ['station'],
      STATION_SECONDS,
    ),
    tokens: counter('tokenlat_tokens_total', 'Tokens used', [...WHERE, 'type']),
    cost: counter('tokenlat_cost_micro_units_total', 'Cost in millionths of the currency', [
      ...WHERE,
      'currency',
      'charged_to',
    ]),
    attempts: counter('tokenlat_attempts_total', 'Tries at backends', [...WHERE, 'outcome']),
    denied: counter('tokenlat_quota_denied_total', 'Requests refused by a limit', ['limit']),
    streams: createSum(
      { registry, name: 'tokenlat_ext_proc_streams', help: 'Open ext_proc streams', labelNames: ['level'] },
      'gauge',
    ),
    anomalies: counter('tokenlat_anomalies_total', 'Things that should not happen', ['kind']),
    store: gauge('tokenlat_store_up', '1 while the store answers', [], 'min'),
    lost: gauge('tokenlat_state_lost', '1 while Redis has lost what it held and nobody has dealt with it', [], 'max'),
    running: gauge('tokenlat_deployment_running', 'Slots in use', ['deployment']),
    waiting: gauge('tokenlat_queue_length', 'Requests that wait for room', ['model', 'priority']),
    waits: histogram('tokenlat_queue_wait_seconds', 'How long those waited that got room', ['priority'], WAIT_SECONDS),
    queueRefused: counter('tokenlat_queue_refused_total', 'Requests refused for want of room', ['model', 'reason']),
    rateShare: gauge('tokenlat_rate_share', "A worker's share of a rate, units a second", ['deployment', 'unit']),
    breaker: gauge(
      'tokenlat_breaker_state',
      '0 closed, 1 on its way back, 2 open for probes, 3 open',
      ['deployment', 'kind'],
      'max',
    ),
    leftOut: counter('tokenlat_left_out_total', 'Deployments passed over in decisions', ['deployment', 'reason']),
    surgeLevel: gauge('tokenlat_surge_level', 'Level of load; 0 as usual', [], 'max'),
    fleetRate: gauge('tokenlat_fleet_requests_per_second', 'Requests to all workers of all replicas', [], 'max'),
    surgeActions: counter('tokenlat_surge_actions_total', 'Requests handled otherwise under high load', ['action']),
    ...tryInstruments(counter, histogram),
    affinity: counter('tokenlat_affinity_total', 'Decisions by whether one that is warm was taken', [
      'model',
      'outcome',
    ]),
    classes: counter('tokenlat_classified_total', 'Requests by class and by what said it', [
      'classifier',
      'class',
      'by',
    ]),
    classTime: histogram(
      'tokenlat_classification_seconds',
      'Time to find the class of a request',
      ['classifier'],
      CLASS_SECONDS,
    ),
  };
}

type MakeCounter = (name: string, help: string, labelNames: readonly string[]) => AddTo;
type MakeHistogram = (name: string, help: string, labelNames: readonly string[], bounds: readonly number[]) => AddTo;

/** Of tries that had to wait for their model, and of those that died with their backend. */
function tryInstruments(counter: MakeCounter, histogram: MakeHistogram) {
  return {
    loadedTries: counter('tokenlat_model_tries_total', 'Tries of models that are loaded when asked for', [
      'model',
      'state',
    ]),
    loadedSeconds: histogram(
      'tokenlat_model_answer_seconds',
      'Of those: to the first token, or to the end of a whole answer',
      ['model', 'state'],
      SECONDS,
    ),
    replays: counter('tokenlat_replays_total', 'Requests that a deployment took and never answered, played again', [
      'deployment',
    ]),
  };
}

type Instruments = ReturnType<typeof instruments>;
type Bound = (label: string, value: string) => string;

const seconds = (nanos: number): number => (Number.isFinite(nanos) ? nanos / 1e9 : 0);

function watchEventLoop(registry: Registry): () => void {
  const delays = monitorEventLoopDelay({ resolution: 20 });
  delays.enable();
  // The gauge registers itself with the registry; a figure covers the time since it was last read.
  void new Gauge({
    name: 'tokenlat_event_loop_delay_seconds',
    help: 'Delay of the event loop since the last reading',
    labelNames: ['quantile'],
    // The slowest worker is the one that matters.
    aggregator: 'max',
    registers: [registry],
    collect() {
      this.set({ quantile: '0.5' }, seconds(delays.percentile(50)));
      this.set({ quantile: '0.99' }, seconds(delays.percentile(99)));
      this.set({ quantile: '1' }, seconds(delays.max));
      delays.reset();
    },
  });
  return () => delays.disable();
}

/** The model by its name in the configuration: what a client wrote is no label. */
function requestModel({ config, request }: Partial<RequestContext> & Arrived): string {
  if (request === undefined) return 'none';
  const name = config.aliases.get(request.model) ?? request.model;
  return config.models.has(name) ? name : 'unknown';
}

function codeOf(ending: Ending): string {
  if (ending.kind === 'failed') return ending.error.code;
  return ending.kind === 'cut' ? `cut_${ending.by}` : 'ok';
}

function recordEvents(series: Instruments, bound: Bound, ending: Ending): void {
  for (const { backend, model, outcome } of ending.attempts) {
    series.attempts([bound('model', model), bound('backend', backend), outcome], 1);
  }
  for (const event of ending.events) recordCost(series, bound, event);
}

function recordCost(series: Instruments, bound: Bound, event: LedgerEvent): void {
  if (event.cost <= 0) return;
  const where = [bound('model', event.model), bound('backend', event.backend)] as const;
  series.cost([...where, bound('currency', event.currency), event.chargedTo], event.cost);
}

function recordRequest(
  series: Instruments,
  bound: Bound,
  ctx: Partial<RequestContext> & Arrived,
  ending: Ending,
): void {
  const served = ending.attempts.at(-1);
  const asked = requestModel(ctx);
  const model = bound('model', served?.model ?? asked);
  const backend = bound('backend', served?.backend ?? 'none');
  const operation = OPERATIONS[ctx.endpoint];
  const who = [operation, bound('gen_ai_request_model', asked)] as const;
  const route = bound('route', ctx.decision?.route.id ?? 'none');
  series.requests([route, model, backend, bound('status', String(ending.status)), codeOf(ending)], 1);
  series.duration(who, ending.totalMs / 1000);
  if (ending.firstTokenMs !== null) series.firstToken(who, ending.firstTokenMs / 1000);
  for (const { station, micros } of ctx.trail.stations()) series.stations([station], micros / 1e6);
  const { prompt, cached, completion, reasoning } = ending.usage;
  const used = (type: string, amount: number): void => {
    if (amount > 0) series.tokens([model, backend, type], amount);
  };
  used('input', prompt);
  used('cached', cached);
  used('output', completion);
  used('reasoning', reasoning);
  if (prompt > 0) series.usage([...who, 'input'], prompt);
  if (completion > 0) series.usage([...who, 'output'], completion);
  recordEvents(series, bound, ending);
}

/**
 * Metrics for Prometheus. No label holds a tenant, a subject or free text of a client; each takes at most `labelValues`
 * different values and then says `other`.
 */
export function createMetrics({ labelValues, registry = new Registry() }: MetricsOptions): PromMetrics {
  const series = instruments(registry);
  const close = watchEventLoop(registry);
  const bounds = new Map<string, ReturnType<typeof createLabelBound>>();
  const bound: Bound = (label, value) => {
    let known = bounds.get(label);
    if (known === undefined) bounds.set(label, (known = createLabelBound(labelValues)));
    return known(value);
  };
  return {
    registry,
    close,
    exposition: () => registry.metrics(),
    request: (ctx, ending) => recordRequest(series, bound, ctx, ending),
    streams: (level, delta) => series.streams([level], delta),
    anomaly: (kind) => series.anomalies([bound('kind', kind)], 1),
    storeState: (state) => series.store.set(state === 'up' ? 1 : 0),
    stateLost: (lost) => series.lost.set(lost ? 1 : 0),
    quotaDenied: (limit) => series.denied([bound('limit', limit)], 1),
    slots: (deployment, running) => series.running.set({ deployment: bound('deployment', deployment) }, running),
    queue: (model, priority, waiting) => series.waiting.set({ model: bound('model', model), priority }, waiting),
    waited: (priority, ms) => series.waits([priority], ms / 1000),
    queueRefused: (model, reason) => series.queueRefused([bound('model', model), reason], 1),
    rateShare: (deployment, unit, share) =>
      series.rateShare.set({ deployment: bound('deployment', deployment), unit }, share),
    breaker: (deployment, kind, state) =>
      series.breaker.set({ deployment: bound('deployment', deployment), kind }, state),
    surge(level, rate) {
      series.surgeLevel.set(level);
      series.fleetRate.set(rate);
    },
    surgeAction: (action) => series.surgeActions([action], 1),
    leftOut: (deployment, reason) => series.leftOut([bound('deployment', deployment), reason], 1),
    replayed: (deployment) => series.replays([bound('deployment', deployment)], 1),
    loadedTry(model, state, took) {
      const labels = [bound('model', model), state];
      series.loadedTries(labels, 1);
      if (took !== null) series.loadedSeconds(labels, took);
    },
    spent: (event) => recordCost(series, bound, event),
    affinity: (model, outcome) => series.affinity([bound('model', model), outcome], 1),
    classified({ classifier, class: name, by }, ms) {
      series.classes([classifier, bound('class', name), by], 1);
      series.classTime([classifier], ms / 1000);
    },
  };
}
