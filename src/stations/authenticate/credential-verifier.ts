import { isPromise, type MaybePromise } from '../../core/maybe-promise.ts';
import type { Clock } from '../../core/ports/clock.ts';
import { type DirectoryView, NO_DIRECTORY } from '../../core/ports/directory-view.ts';
import type { KeyLookup } from '../../core/ports/key-lookup.ts';
import type { Snapshot, Tenant } from '../../core/snapshot.ts';
import type { Credential } from './credential.ts';
import type { KeySources } from './key-sources.ts';
import { VerdictCache, verdictKey } from './verdict-cache.ts';
import type { Verdict } from './verdict.ts';
import { createApiKeyVerifier } from './verify-api-key.ts';
import { createJwtVerifier } from './verify-jwt.ts';
import { createStoredKeyVerifier, isStoredKey } from './verify-stored-key.ts';

/** What a verifier reads of a configuration. */
export type AuthConfig = Pick<Snapshot, 'generation' | 'auth' | 'tenants' | 'tenantDefaults' | 'server'>;

export interface CredentialVerifierOptions {
  readonly config: AuthConfig;
  readonly sources: KeySources;
  readonly clock: Clock;
  /** Keys of the directory, asked for after those of the configuration. */
  readonly keys?: KeyLookup;
  readonly directory?: DirectoryView;
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
export function createCredentialVerifier(options: CredentialVerifierOptions): CredentialVerifier {
  const { config, sources, clock, directory = NO_DIRECTORY } = options;
  const { auth, generation, tenants, tenantDefaults } = config;
  const waitMs = Math.floor(config.server.messageTimeoutMs * WAIT_SHARE);
  const issuers = auth.issuers.map((issuer) => ({ issuer, keys: sources.of(issuer.keys, waitMs) }));
  /** A tenant of the configuration, else one of the directory under the rules for tenants that are not named. */
  const tenantOf = (name: string): Tenant => {
    const known = tenants.get(name);
    if (known !== undefined) return known;
    const tier = directory.tenant(name)?.tier;
    return tier === undefined ? tenantDefaults : { ...tenantDefaults, tier };
  };
  const verifyJwt = createJwtVerifier({ issuers, tenantOf, clockSkewMs: auth.clockSkewMs, clock });
  const verifyApiKey = createApiKeyVerifier({ apiKeys: auth.apiKeys, tenantOf });
  const verifyStoredKey =
    options.keys === undefined ? null : createStoredKeyVerifier({ keys: options.keys, tenantOf, clock });
  const cache = new VerdictCache({ ...auth.cache, clock });

  function verify(credential: Credential): MaybePromise<Verdict> {
    const verdict = verifyByConfig(credential);
    const { kind, token } = credential;
    if (verifyStoredKey === null || kind !== 'api-key' || !isStoredKey(token) || isPromise(verdict)) return verdict;
    return verdict.kind === 'refused' ? verifyStoredKey(token) : verdict;
  }

  function verifyByConfig({ kind, token }: Credential): MaybePromise<Verdict> {
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
