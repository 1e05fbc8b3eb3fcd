import { z } from 'zod';
import { duration, modelPattern, name, text } from './scalar.ts';

const ALGORITHMS = ['HS256', 'HS384', 'HS512', 'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'] as const;

const jwks = z
  .strictObject({
    url: text().optional().describe('Address of the key set. Give this or `file`.'),
    file: text().optional().describe('File with the key set. Give this or `url`.'),
    refresh: duration({ min: 1000 }).prefault('10m').describe('How old a fetched set may get. Default: 10m.'),
    cooldown: duration({ min: 100 })
      .prefault('30s')
      .describe('At least this long between two fetches that unknown key ids cause. Default: 30s.'),
    max_stale: duration({ min: 0, max: 7 * 86_400_000 })
      .prefault('1h')
      .describe('How long an old set stands in when the provider is down. Default: 1h.'),
    timeout: duration({ min: 10, max: 30_000 }).prefault('2s').describe('For one fetch. Default: 2s.'),
  })
  .describe('Public keys of the issuer.');

const exec = z
  .strictObject({
    command: z.array(text()).min(1).meta({ examples: [['/usr/local/bin/kms-helper', 'decrypt', 'gateway-key']] }),
    refresh: duration({ min: 1000 }).prefault('1h').describe('Run again after this long. Default: 1h.'),
    timeout: duration({ min: 10, max: 60_000 }).prefault('5s').describe('Default: 5s.'),
  })
  .describe('A command that prints the shared secret (a KMS helper). It is not run through a shell.');

const claim = (fallback: string) => text().default(fallback).describe(`Default: ${fallback}.`);

const issuer = z.strictObject({
  issuer: text().describe('Must equal `iss` of the token.').meta({ examples: ['https://idp.example.org/'] }),
  audience: z
    .union([text(), z.array(text())])
    .transform((value) => (typeof value === 'string' ? [value] : value))
    .default([])
    .describe('One of these must be in `aud` of the token. Required unless the algorithms are HS ones.'),
  algorithms: z
    .array(z.enum(ALGORITHMS))
    .min(1)
    .describe('What a token may be signed with: HS algorithms with `secret` or `exec`, or the others with `jwks`; never both kinds.'),
  typ: text()
    .transform((value) => value.toLowerCase().replace(/^application\//, ''))
    .optional()
    .describe('Required `typ` of the token header (`at+jwt`). Default: any but that of an ID token.'),
  jwks: jwks.optional(),
  secret: z
    .string()
    .optional()
    .describe('Shared secret of at least 32 bytes, as a reference: "${file:secrets/gateway.key}" or "${env:GATEWAY_KEY}".'),
  exec: exec.optional(),
  claims: z
    .strictObject({
      tenant: claim('tenant'),
      models: claim('models'),
      tier: claim('tier'),
      business_line: claim('business_line'),
      scope: claim('scope'),
      quota_daily: claim('quota_daily'),
    })
    .prefault({})
    .describe('Which claim holds what.'),
});

const apiKey = z.strictObject({
  name: name().describe('For the audit; never the key itself.'),
  sha256: z
    .string()
    .regex(/^[0-9a-fA-F]{64}$/, 'must be a SHA-256 of 64 hex digits')
    .transform((hex) => hex.toLowerCase())
    .optional()
    .describe('SHA-256 of the key, in hex. Give this or `key`.'),
  key: z.string().min(16, 'must be at least 16 characters').optional().describe('The key, as a reference: "${env:CI_KEY}". Only its SHA-256 is kept.'),
  tenant: text(),
  subject: text().optional().describe('Default: the name.'),
  models: z.array(modelPattern()).default(['*']).describe('Exact names or `prefix*`. Default: every model.'),
  scopes: z.array(text()).default([]).describe('Default: none.'),
  business_line: text().optional(),
  quota_daily: z.int().min(0).optional().describe('Tokens a UTC day for this key. Default: no limit of its own.'),
});

export const authSection = z
  .strictObject({
    issuers: z.array(issuer).default([]).describe('Who signs tokens (JWT) that we accept.'),
    api_keys: z.array(apiKey).default([]).describe('Long-lived keys.'),
    clock_skew: duration({ min: 0, max: 300_000 }).prefault('30s').describe('Tolerance for `exp` and `nbf`. Default: 30s.'),
    cache: z
      .strictObject({
        entries: z.int().min(0).max(1_000_000).default(10_000).describe('Default: 10000.'),
        ttl: duration({ min: 0, max: 3_600_000 }).prefault('1m').describe('Default: 1m.'),
      })
      .prefault({})
      .describe('Verdicts about tokens that are remembered.'),
  })
  .describe('Who may ask. At least one issuer or API key.');
