import { existsSync, readFileSync } from 'node:fs';
import { createSecureContext, type SecureContext } from 'node:tls';
import { ask } from '../control/http/ask.ts';
import { connect } from '../control/http/connect.ts';
import { GATEWAY_TENANT } from '../core/gateway-tenant.ts';
import { watchProbes, type WatchedProbes } from '../control/probes/watch-probes.ts';
import type { ChatRequest } from '../core/chat-request.ts';
import { HeaderList } from '../core/http.ts';
import type { LedgerEvent } from '../core/ledger-event.ts';
import { systemClock } from '../core/ports/clock.ts';
import type { ProbeMetrics } from '../core/ports/probe-metrics.ts';
import type { Log, Metrics } from '../core/ports/telemetry.ts';
import type { Snapshot } from '../core/snapshot.ts';
import { createOpenAiClient } from '../dialects/openai/dialect.ts';
import { SYSTEM_CA_FILE } from '../render/clusters.ts';
import type { Findings } from '../routing/findings.ts';
import { incarnationOf } from '../stations/route/targets.ts';
import type { Stores } from '../store/stores.ts';
import type { Dialects } from './dialects.ts';

export interface OpenProbesOptions {
  readonly config: () => Snapshot;
  readonly stores: Pick<Stores, 'lease' | 'quota'>;
  readonly findings: Findings;
  readonly dialects: Pick<Dialects, 'backends'>;
  readonly worker: number;
  /** Names this process among all of all times. */
  readonly holder: string;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'anomaly' | 'spent'>;
  readonly probeFigures: ProbeMetrics;
}

/** Begins to look at backends where the configuration wants it. */
export function openProbes(options: OpenProbesOptions): WatchedProbes {
  const { config, stores, findings, dialects, worker, holder, log, metrics, probeFigures } = options;
  return watchProbes({
    config,
    lease: stores.lease,
    holder,
    findings,
    incarnationOf,
    dialects: dialects.backends,
    request: (model, maxTokens) => shortQuestion(config(), model, maxTokens),
    ask,
    connect,
    trust: trustOfEnvoy(),
    book: (event) => book(event, options),
    worker,
    clock: systemClock,
    log,
    metrics,
    figures: probeFigures,
  });
}

/** What a client would send to hear one word. */
function shortQuestion({ limits }: Snapshot, model: string, maxTokens: number): ChatRequest {
  const body = { model, messages: [{ role: 'user', content: 'Say ok.' }], max_tokens: maxTokens };
  const headers = new HeaderList([['content-type', 'application/json']]);
  const head = { method: 'POST', path: '/v1/chat/completions', headers };
  return createOpenAiClient().parse(head, Buffer.from(JSON.stringify(body)), limits);
}

function book(event: LedgerEvent, { stores, metrics, log }: OpenProbesOptions): void {
  metrics.spent(event);
  const actual = { requests: 0, tokens: 0 };
  stores.quota
    .settle({ operation: event.operation, tenant: GATEWAY_TENANT, actual, events: [event] })
    .catch((error: unknown) => {
      metrics.anomaly('settle_failed');
      log.error('the cost of a probe could not be booked', { error: error instanceof Error ? error : undefined });
    });
}

/** Envoy trusts the system's authorities, Node its own list: a probe must not see what Envoy does not. */
function trustOfEnvoy(): SecureContext | undefined {
  return existsSync(SYSTEM_CA_FILE) ? createSecureContext({ ca: readFileSync(SYSTEM_CA_FILE) }) : undefined;
}
