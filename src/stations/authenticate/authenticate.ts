import type { Arrived, Authenticated, Received } from '../../core/context.ts';
import { GatewayError } from '../../core/error.ts';
import type { HeaderList } from '../../core/http.ts';
import { isPromise } from '../../core/maybe-promise.ts';
import type { MaybePromise } from '../../core/maybe-promise.ts';
import type { Clock } from '../../core/ports/clock.ts';
import { type DirectoryView, NO_DIRECTORY } from '../../core/ports/directory-view.ts';
import type { KeyLookup } from '../../core/ports/key-lookup.ts';
import type { Log, Metrics } from '../../core/ports/telemetry.ts';
import type { Principal } from '../../core/principal.ts';
import type { Snapshot } from '../../core/snapshot.ts';
import type { Station, Step } from '../../core/station.ts';
import { readCredential } from './credential.ts';
import { createCredentialVerifier } from './credential-verifier.ts';
import type { AuthConfig, CredentialVerifier } from './credential-verifier.ts';
import type { Fetch } from './fetch-keys.ts';
import { KeySources } from './key-sources.ts';
import { modelAllowed } from './model-allowed.ts';
import { expiredCredentials, invalidCredentials, providerUnavailable } from './refusal.ts';
import type { Verdict } from './verdict.ts';

export interface AuthenticateOptions {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
  /** How key sets are fetched; the platform's own where not given. */
  readonly fetch?: Fetch;
  /** Keys that operators made at run time; without it only those of the configuration open. */
  readonly keys?: KeyLookup;
  /** Tenants that operators made at run time. */
  readonly directory?: DirectoryView;
  /** Whose job it is that shows this `authorization`; null where it is of no job. */
  readonly jobs?: ((authorization: string) => Promise<Principal | null> | null) | undefined;
}

/** The station, and what else of a process asks who somebody is. */
export interface Authenticate extends Station<Arrived & Received, Authenticated> {
  /** Loads the keys that a configuration names: at start-up and after a reload. Never rejects. */
  readonly prefetch: (config: Snapshot) => Promise<void>;
  /** Who sent these headers, by this configuration? Throws (or rejects with) `GatewayError`. For requests off the walk. */
  readonly identify: (headers: HeaderList, config: AuthConfig) => MaybePromise<Principal>;
}

/**
 * Makes the first station. `head` says who asks, before a byte of the body is looked at; `run` says whether they may use
 * the model that the body names. It reads the configuration of each request: verifiers belong to one configuration, keys
 * outlive them all.
 */
export function createAuthenticate(options: AuthenticateOptions): Authenticate {
  const { log, metrics, clock, fetch = globalThis.fetch, keys, directory = NO_DIRECTORY, jobs } = options;
  const sources = new KeySources({ clock, log, metrics, fetch });
  // By object: requests of the generation before go on with theirs, and it goes when they are gone.
  const verifiers = new WeakMap<AuthConfig, CredentialVerifier>();
  let newest = 0;

  function verifierOf(config: AuthConfig): CredentialVerifier {
    const known = verifiers.get(config);
    if (known !== undefined) return known;
    const made = createCredentialVerifier({
      config,
      sources,
      clock,
      directory,
      ...(keys === undefined ? {} : { keys }),
    });
    verifiers.set(config, made);
    if (config.generation >= newest) {
      newest = config.generation;
      sources.retain(config.auth.issuers.map((issuer) => issuer.keys));
    }
    return made;
  }

  function settle(verdict: Verdict): Principal {
    switch (verdict.kind) {
      case 'accepted':
        return verdict.principal;
      case 'unavailable':
        metrics.anomaly('identity_provider_unavailable');
        throw providerUnavailable();
      case 'refused':
        log.debug('credential refused', { reason: verdict.reason });
        throw verdict.why === 'expired' ? expiredCredentials() : invalidCredentials();
      default:
        return verdict satisfies never;
    }
  }

  function identify(headers: HeaderList, config: AuthConfig): MaybePromise<Principal> {
    const verdict = verifierOf(config).verify(readCredential(headers));
    return isPromise(verdict) ? verdict.then(settle) : settle(verdict);
  }

  return {
    name: 'authenticate',
    head: (ctx) => {
      const job = jobs?.(ctx.head.headers.get('authorization') ?? '') ?? null;
      const principal = job === null ? identify(ctx.head.headers, ctx.config) : job.then(ofJob);
      return isPromise(principal) ? principal.then(verified) : verified(principal);
    },
    run: (ctx: Arrived & Received & Partial<Authenticated>) => {
      const principal = ctx.principal ?? identify(ctx.head.headers, ctx.config);
      return isPromise(principal) ? principal.then((who) => permit(who, ctx)) : permit(principal, ctx);
    },
    prefetch: (config) => verifierOf(config).prefetch(),
    identify,
  };
}

/** A job that runs no more opens nothing. */
function ofJob(principal: Principal | null): Principal {
  if (principal === null) throw invalidCredentials();
  return principal;
}

function verified(principal: Principal): Step<Authenticated> {
  return { note: { decision: 'verified', reason: `by ${principal.credential}` }, adds: { principal } };
}

function permit(principal: Principal, ctx: Arrived & Received): Step<Authenticated> {
  const { model } = ctx.request;
  if (!modelAllowed(principal, model, ctx.config)) {
    throw new GatewayError('model_not_allowed', `Your credential does not allow the model '${shown(model)}'.`, {
      param: 'model',
    });
  }
  return { note: { decision: 'allowed', reason: `by ${principal.credential}` }, adds: { principal } };
}

/** A client's own text in an answer to it, kept short. */
function shown(text: string): string {
  return text.length <= 128 ? text : `${text.slice(0, 128)}…`;
}
