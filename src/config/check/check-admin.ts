import fs from 'node:fs';
import { isLoopback } from '../../lib/address/address.ts';
import { tokenHash } from '../compile/compile-admin.ts';
import type { CheckContext } from './finding.ts';

/** Rules about the admin API: who may reach it, and with what. */
export function checkAdmin(context: CheckContext): void {
  const { document, files, problem } = context;
  const { admin, listen, server } = document;
  if (admin === undefined) return;
  if (!isLoopback(admin.address) && admin.tls === undefined)
    problem(
      ['admin', 'address'],
      `${admin.address} can be reached from other machines: give admin.tls, or use 127.0.0.1`,
    );
  for (const key of ['cert', 'key', 'client_ca'] as const) {
    const file = admin.tls?.[key];
    if (file !== undefined && fs.statSync(files.resolve(file), { throwIfNoEntry: false })?.isFile() !== true)
      problem(['admin', 'tls', key], `${files.resolve(file)} is not there: it must be a PEM file`);
  }
  for (const [port, name] of [
    [listen.port, 'listen.port'],
    [listen.admin_port, 'listen.admin_port'],
    [server.ops.port, 'server.ops.port'],
  ] as const)
    if (admin.port === port) problem(['admin', 'port'], `port ${port} is taken by ${name}`);
  if (admin.tokens.length === 0 && admin.oidc === undefined)
    problem(['admin'], 'needs at least one token, or "oidc": nobody could use it');
  checkTokens(context, admin.tokens);
}

type Tokens = NonNullable<CheckContext['document']['admin']>['tokens'];

function checkTokens({ document, problem }: CheckContext, tokens: Tokens): void {
  const names = new Set<string>();
  const hashes = new Set<string>(
    document.auth.api_keys.map((key) => tokenHash({ sha256: key.sha256, token: key.key })),
  );
  tokens.forEach((token, index) => {
    const path = ['admin', 'tokens', index];
    if ((token.sha256 === undefined) === (token.token === undefined))
      problem(path, 'needs "sha256" or "token", not both');
    if (names.has(token.name)) problem([...path, 'name'], `"${token.name}" is named twice`);
    names.add(token.name);
    const hash = tokenHash(token);
    if (hashes.has(hash)) problem(path, 'is the secret of another token or API key: each needs its own');
    hashes.add(hash);
  });
}
