import { readFileSync } from 'node:fs';
import type { UpstreamScript } from '../support/upstream-script.ts';

const FILE = new URL('../fixtures/public-reports/public-reports.jsonl', import.meta.url);

/** One piece of a request body: text, or a text repeated. */
export type BodyPart = string | { readonly repeat: readonly [text: string, times: number] };

export interface CaseRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly body_raw?: string;
  readonly body_b64?: string;
  readonly body_parts?: readonly BodyPart[];
  /** Leave when so many events have come. */
  readonly client_abort?: { readonly after_events: number };
  /** Hold the body back until an interim answer, at most so long. */
  readonly wait_for_continue_ms?: number;
}

/** A token to sign: numeric claims may be `now+600`; `sign_with` names a key pair. */
export interface CaseJwt {
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
  readonly sign_with: string;
}

/** A script for every backend, or scripts by the backend's name. */
export type CaseUpstream = UpstreamScript | Readonly<Record<string, UpstreamScript | readonly UpstreamScript[]>>;

export interface CaseStep {
  readonly request: CaseRequest;
  readonly upstream: CaseUpstream;
  readonly jwt: CaseJwt | null;
  readonly repeat: number;
  readonly parallel: number;
  readonly background: boolean;
  readonly before: string | null;
  readonly at: string | null;
}

export interface PricePerM {
  readonly in: number;
  readonly out: number;
  readonly cached_in?: number;
  readonly above?: { readonly tokens: number; readonly mode: 'excess' | 'whole'; readonly in: number };
}

export interface HintBackend {
  readonly name: string;
  readonly kind: string;
  readonly serves: readonly string[];
  readonly upstream_model?: string;
  readonly version?: string;
  readonly key?: string;
  readonly price_per_m?: PricePerM;
  readonly default_max_tokens?: number;
}

export interface HintLimits {
  readonly requests_per_min?: number;
  readonly tokens_per_min?: number;
  readonly max_parallel?: number;
  readonly processes?: number;
  readonly reserve?: boolean;
  readonly redis_timeout_ms?: number;
  readonly on_redis_error?: string;
}

export interface HintAuth {
  readonly issuer: string;
  readonly audience: string;
  readonly jwks: readonly string[];
  readonly clock_skew_s?: number;
  readonly jwks_url?: string;
  readonly cooldown_s?: number;
}

export interface ConfigHint {
  readonly backends: readonly HintBackend[];
  readonly aliases?: Readonly<Record<string, string>>;
  readonly auth?: HintAuth;
  readonly limits?: HintLimits;
  readonly route?: Readonly<Record<string, { readonly priority: readonly string[]; readonly max_attempts?: number }>>;
  readonly processes?: number;
  readonly note?: string;
}

export type Claim =
  | {
      readonly on: string;
      readonly op: string;
      readonly value?: unknown;
      readonly tol?: number;
      readonly soft?: boolean;
    }
  | { readonly any_of: readonly Claim[] }
  | { readonly all_of: readonly Claim[] }
  | { readonly if: Claim | { readonly policy: string }; readonly then: Claim };

export interface Report {
  readonly id: string;
  readonly symptom: string;
  readonly hint: ConfigHint;
  readonly steps: readonly CaseStep[];
  readonly assert: readonly Claim[];
}

interface RawStep extends Partial<Omit<CaseStep, 'request' | 'upstream'>> {
  readonly request: CaseRequest | string;
  readonly upstream: CaseUpstream | string;
}

export interface RawReport {
  readonly id: string;
  readonly symptom: string;
  readonly input: RawStep & { readonly config_hint: ConfigHint; readonly steps?: readonly RawStep[] };
  readonly expect: { readonly assert: readonly Claim[] };
}

/** Every report of the fixture, with its references resolved. */
export function loadReports(): readonly Report[] {
  const lines = readFileSync(FILE, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => reportOf(JSON.parse(line) as RawReport));
}

/** Some reports give two backends one name: the later one is told apart by its kind. */
function distinct(backends: readonly HintBackend[]): readonly HintBackend[] {
  return backends.map((backend, at) => {
    const taken = backends.slice(0, at).some(({ name }) => name === backend.name);
    return taken ? { ...backend, name: `${backend.name}-${backend.kind}` } : backend;
  });
}

/** A case without steps is a case of one step. */
export function reportOf({ id, symptom, input, expect }: RawReport): Report {
  const { config_hint: hint, steps } = input;
  return {
    id,
    symptom,
    hint: { ...hint, backends: distinct(hint.backends) },
    steps: (steps ?? [input]).map((step) => ({
      request: { ...whole(input.request), ...(typeof step.request === 'string' ? {} : only(step.request)) },
      upstream: typeof step.upstream === 'string' ? (input.upstream as CaseUpstream) : step.upstream,
      jwt: step.jwt ?? input.jwt ?? null,
      repeat: step.repeat ?? 1,
      parallel: step.parallel ?? 1,
      background: step.background ?? false,
      before: step.before ?? null,
      at: step.at ?? null,
    })),
    assert: expect.assert,
  };
}

function whole(request: CaseRequest | string): CaseRequest {
  if (typeof request === 'string') throw new Error(`a reference to nothing: ${request}`);
  return request;
}

/** A step's request stands for itself: nothing of the case's own body shines through. */
function only(request: CaseRequest): CaseRequest {
  const blank = { body: undefined, body_raw: undefined, body_b64: undefined, body_parts: undefined };
  return { ...blank, client_abort: undefined, wait_for_continue_ms: undefined, ...request } as CaseRequest;
}

/** Does this name one script rather than scripts by backend? */
export function isScript(upstream: CaseUpstream): upstream is UpstreamScript {
  return 'status' in upstream || 'close_after_request' in upstream || 'hang' in upstream;
}
