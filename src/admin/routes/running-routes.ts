import { route } from '../route.ts';
import type { AdminRoute } from '../route.ts';
import { routingView } from '../schema/report.ts';
import { explainQuery, explainView } from '../schema/explain.ts';
import type { z } from 'zod';
import type { LiveState } from '../../core/ports/live.ts';
import { showTime } from '../schema/scalar.ts';
import { liveView, statusView } from '../schema/state.ts';

const status = route({
  name: 'status.read',
  method: 'GET',
  path: '/admin/status',
  summary: 'What serves here, and who asks',
  rule: { kind: 'role', role: 'viewer', tenant: 'any' },
  params: null,
  query: null,
  body: null,
  reply: { status: 200, schema: statusView },
  run: async ({ caller, deps }) => {
    const { version, zone, currency, generation, audit, sink } = await deps.status();
    return {
      body: {
        object: 'status',
        version,
        now: showTime(deps.time()),
        zone,
        currency,
        role: caller.role,
        tenant: caller.tenant,
        config_generation: generation,
        audit: audit === null ? null : { state: audit },
        sink: sink === null ? null : { state: sink.state, lag_events: sink.lagEvents, lag_ms: sink.lagMs },
      },
    };
  },
});

function liveRow({
  requests,
  errors,
  tokens,
  ...row
}: LiveState['rows'][number]): z.infer<typeof liveView>['data'][number] {
  const { latencyP50, latencyP95, firstTokenP50, coldShare, warmP95, ...rest } = row;
  return {
    ...rest,
    requests_per_minute: requests,
    errors_per_minute: errors,
    tokens_per_minute: tokens,
    latency_ms_p50: latencyP50,
    latency_ms_p95: latencyP95,
    first_token_ms_p50: firstTokenP50,
    cold_share: coldShare,
    warm_ms_p95: warmP95,
  };
}

const live = route({
  name: 'live.read',
  method: 'GET',
  path: '/admin/live',
  summary: 'What happens now, over all replicas',
  description: 'While the store is away: what was known last.',
  rule: { kind: 'role', role: 'viewer', tenant: 'none' },
  params: null,
  query: null,
  body: null,
  reply: { status: 200, schema: liveView },
  run: async ({ deps }) => {
    const [{ at, replicas, rows, queues }, jobs] = await Promise.all([deps.live(), deps.jobs()]);
    return {
      body: {
        object: 'live',
        at: showTime(at),
        replicas: replicas.map(({ startedAt, ...rest }) => ({ ...rest, started_at: showTime(startedAt) })),
        data: rows.map(liveRow),
        queues: queues.map(({ oldestMs, refused, waited, waitP95, ...rest }) => ({
          ...rest,
          oldest_ms: oldestMs,
          refused_per_minute: refused,
          waited_per_minute: waited,
          wait_ms_p95: waitP95,
        })),
        jobs:
          jobs === null
            ? null
            : { queued: jobs.queued, running: jobs.running, failed: jobs.failed, oldest_ms: jobs.oldestMs },
      },
    };
  },
});

const routing = route({
  name: 'routing.read',
  method: 'GET',
  path: '/admin/routes',
  summary: 'Models, deployments and routes, and their state',
  rule: { kind: 'role', role: 'viewer', tenant: 'none' },
  params: null,
  query: null,
  body: null,
  reply: { status: 200, schema: routingView },
  run: async ({ deps }) => {
    const { models, routes } = await deps.routing();
    const shown = models.map((model) => ({
      ...model,
      deployments: model.deployments.map(({ upstreamModel, ...rest }) => ({ ...rest, upstream_model: upstreamModel })),
    }));
    return { body: { object: 'routing', models: shown, routes } };
  },
});

const explain = route({
  name: 'routing.explain',
  method: 'GET',
  path: '/admin/explain',
  summary: 'What would be decided now on a request, and why',
  description:
    'Every candidate with its terms, health and load, as the worker that answers sees them. Where chance decides, it is drawn anew each time. Nothing is sent.',
  rule: { kind: 'role', role: 'viewer', tenant: 'none' },
  params: null,
  query: explainQuery,
  body: null,
  reply: { status: 200, schema: explainView },
  run: async ({ query, deps }) => {
    const { fallbackReason, classified, candidates, ...rest } = deps.explain({
      tenant: query.tenant,
      model: query.model,
      endpoint: query.endpoint,
      type: query.type ?? null,
      class: query.class ?? null,
      prompt: query.prompt ?? null,
      session: query.session ?? null,
      stream: query.stream,
      promptTokens: query.prompt_tokens,
      maxTokens: query.max_tokens ?? null,
      timeoutMs: query.timeout_ms ?? null,
      tier: query.tier ?? null,
      businessLine: query.business_line ?? null,
      scopes: query.canary ? ['canary'] : [],
    });
    return {
      body: {
        object: 'explain',
        ...rest,
        fallback_reason: fallbackReason,
        class: classified === null ? null : { ...classified, margin: finite(classified.margin) },
        candidates: candidates.map(({ estimateMs, estimateCost, ...one }) => ({
          ...one,
          estimate_ms: estimateMs,
          estimate_cost_micros: estimateCost,
        })),
      },
    };
  },
});

/** JSON has no infinity: a class without a second. */
const finite = (margin: number | null): number | null => (margin !== null && Number.isFinite(margin) ? margin : null);

export const runningRoutes: readonly AdminRoute[] = [explain, status, live, routing];
