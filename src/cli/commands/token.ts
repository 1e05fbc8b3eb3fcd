import { createHmac, randomUUID } from 'node:crypto';
import { Command } from 'commander';
import { parseDuration } from '../../config/units.ts';
import type { Snapshot } from '../../core/snapshot.ts';
import { UserError, WordsError } from '../user-error.ts';

interface TokenFlags {
  readonly config: string;
  readonly issuer?: string;
  readonly subject: string;
  readonly tenant: string;
  readonly models: string;
  readonly tier?: string;
  readonly scope?: string;
  readonly quotaDaily?: string;
  readonly ttl: string;
}

/** `tokenlat token`: a JWT for development, signed with a shared secret of the configuration. */
export function tokenCommand(): Command {
  return new Command('token')
    .description('print a development token, signed by an HS256 issuer of the configuration')
    .option('-c, --config <file>', 'configuration file', 'tokenlat.yaml')
    .option('--issuer <name>', 'issuer to sign as; default: the first one with a secret')
    .option('--subject <name>', 'who asks', 'developer')
    .option('--tenant <name>', 'for which tenant', 'dev')
    .option('--models <list>', 'models that it may use, comma-separated; * stands for anything', '*')
    .option('--tier <name>', 'tier of the tenant')
    .option('--scope <list>', 'scopes, space-separated')
    .option('--quota-daily <tokens>', 'tokens a day')
    .option('--ttl <duration>', 'how long it is valid', '1h')
    .action(async (flags: TokenFlags) => {
      const { load } = await import('../../app/load.ts');
      process.stdout.write(`${developmentToken(load(flags.config).snapshot, flags)}\n`);
    });
}

/** Throws `UserError` when the configuration has no issuer with a shared secret. */
export function developmentToken(config: Snapshot, flags: Omit<TokenFlags, 'config'>): string {
  const issuer = config.auth.issuers.find(
    (candidate) =>
      candidate.keys.kind === 'secret' && (flags.issuer === undefined || candidate.issuer === flags.issuer),
  );
  if (issuer === undefined || issuer.keys.kind !== 'secret') {
    throw new UserError(
      'no issuer with a shared secret in the configuration: add one under auth.issuers for development',
    );
  }
  const algorithm = issuer.algorithms.find((name) => name.startsWith('HS')) ?? 'HS256';
  const ttl = parseDuration(flags.ttl);
  if (ttl === null) throw new WordsError(`--ttl ${flags.ttl} is no duration; write 30m or 8h`);
  const quota =
    flags.quotaDaily === undefined ? null : Number(/^\d+$/.test(flags.quotaDaily) ? flags.quotaDaily : Number.NaN);
  if (quota !== null && !Number.isSafeInteger(quota))
    throw new WordsError('--quota-daily must be a whole number of tokens');
  const now = Math.floor(Date.now() / 1000);
  const payload = {
    iss: issuer.issuer,
    ...(issuer.audience[0] === undefined ? {} : { aud: issuer.audience[0] }),
    sub: flags.subject,
    jti: randomUUID(),
    iat: now,
    exp: now + Math.floor(ttl / 1000),
    [issuer.claims.tenant]: flags.tenant,
    [issuer.claims.models]: flags.models.split(',').map((name) => name.trim()),
    ...(flags.tier === undefined ? {} : { [issuer.claims.tier]: flags.tier }),
    ...(flags.scope === undefined ? {} : { [issuer.claims.scope]: flags.scope }),
    ...(quota === null ? {} : { [issuer.claims.quotaDaily]: quota }),
  };
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signed = `${part({ alg: algorithm, typ: issuer.typ === null ? 'JWT' : issuer.typ })}.${part(payload)}`;
  return `${signed}.${createHmac(`sha${algorithm.slice(2)}`, issuer.keys.secret)
    .update(signed)
    .digest('base64url')}`;
}
