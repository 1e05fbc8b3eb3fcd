import type { MaybePromise } from '../../core/maybe-promise.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Snapshot } from '../../core/snapshot.ts';
import type { Credential } from './credential.ts';
import type { KeySources } from './key-sources.ts';
import { VerdictCache, verdictKey } from './verdict-cache.ts';
import type { Verdict } from './verdict.ts';
import { createApiKeyVerifier } from './verify-api-key.ts';
import { createJwtVerifier } from './verify-jwt.ts';

/** What a verifier reads of a configuration. */
export type AuthConfig = Pick<Snapshot, 'generation' | 'auth' | 'tenants' | 'tenantDefaults' | 'server'>;

export interface CredentialVerifierOptions {
  readonly config: AuthConfig;
  readonly sources: KeySources;
  readonly clock: Clock;
}

/** Checks credentials by one generation of the configuration. */
export interface CredentialVerifier {
  /** At once for what is remembered and for API keys. Never rejects. */
  readonly verify: (credential: Credential) => MaybePromise<Verdict>;
  /** Loads the keys of every issuer. Never rejects. */
  readonly prefetch: () => Promise<void>;
}

/** The part of Envoy's patience for one message that a wait for keys may take. */
const WAIT_SHARE = 0.75;

/** Makes the verifier of one configuration. Its verdicts go with it; the keys are in `sources` and stay. */
export function createCredentialVerifier({ config, sources, clock }: CredentialVerifierOptions): CredentialVerifier {
  const { auth, generation, tenants, tenantDefaults } = config;
  const waitMs = Math.floor(config.server.messageTimeoutMs * WAIT_SHARE);
  const issuers = auth.issuers.map((issuer) => ({ issuer, keys: sources.of(issuer.keys, waitMs) }));
  const tenantOf = (name: string) => tenants.get(name) ?? tenantDefaults;
  const verifyJwt = createJwtVerifier({ issuers, tenantOf, clockSkewMs: auth.clockSkewMs, clock });
  const verifyApiKey = createApiKeyVerifier({ apiKeys: auth.apiKeys, tenantOf });
  const cache = new VerdictCache({ ...auth.cache, clock });

  function verify({ kind, token }: Credential): MaybePromise<Verdict> {
    const key = verdictKey(generation, kind, token);
    const known = cache.get(key);
    if (known !== undefined) return known;
    if (kind === 'jwt') {
      return verifyJwt(token).then((verdict) => {
        cache.set(key, verdict);
        return verdict;
      });
    }
    const verdict = verifyApiKey(token);
    cache.set(key, verdict);
    return verdict;
  }

  return {
    verify,
    prefetch: async () => {
      await Promise.all(issuers.map(({ keys }) => keys.prefetch()));
    },
  };
}
