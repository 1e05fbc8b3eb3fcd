import { readFileSync } from 'node:fs';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { AdminPlace } from '../config/read-admin-place.ts';
import { addressOf } from '../core/endpoint.ts';
import { isZone } from '../lib/calendar/calendar-period.ts';
import { createAdminClient, pathOf, type AdminClient } from './admin-client.ts';
import type { Format } from './output.ts';
import type { Terminal } from './terminal.ts';
import { UserError } from './user-error.ts';
import { parseZone } from './zone-day.ts';

/** Options that every command of the admin API has. */
export interface AdminFlags extends FormatFlags {
  readonly config: string;
  readonly admin?: string;
  readonly tokenFile?: string;
  readonly ca?: string;
  readonly clientCert?: string;
  readonly clientKey?: string;
}

interface FormatFlags {
  readonly json?: boolean;
  readonly csv?: boolean;
}

const URL_VARIABLE = 'TOKENLAT_ADMIN_URL';
const TOKEN_VARIABLE = 'TOKENLAT_ADMIN_TOKEN';

/** A command that talks with the admin API. */
export function adminCommand(name: string, description: string): Command {
  return formatOptions(
    new Command(name)
      .description(description)
      .option('--admin <url>', `address of the admin API; default: ${URL_VARIABLE}, or the configuration's`)
      .option('--token-file <file>', `file with the admin token; default: the token in ${TOKEN_VARIABLE}`)
      .option('-c, --config <file>', 'configuration that names the address', 'tokenlat.yaml')
      .option('--ca <file>', 'PEM file: who signed the certificate of the API; default: the authorities of Node')
      .option('--client-cert <file>', 'PEM file: certificate to show')
      .option('--client-key <file>', 'PEM file: private key of that certificate'),
  );
}

/** `--watch`. */
export function watchOption(command: Command): Command {
  return command.option('--watch', 'again each second, until Ctrl-C');
}

/** `--zone`, for `ledgerZone`. */
export function zoneOption(command: Command): Command {
  return command.option('--zone <name>', "zone of the days; default: the ledger's, as the API tells it", parseZone);
}

/** `--json` and `--csv`. */
export function formatOptions(command: Command): Command {
  return command
    .addOption(new Option('--json', 'print JSON').conflicts('csv'))
    .addOption(new Option('--csv', 'print CSV'));
}

export function formatOf({ json = false, csv = false }: FormatFlags): Format {
  return json ? 'json' : csv ? 'csv' : 'table';
}

/** Finds address and token. Throws `ConfigError`, `UserError`. */
export async function openAdmin(flags: AdminFlags, { env }: Pick<Terminal, 'env'>): Promise<AdminClient> {
  const url = givenUrl(flags, env) ?? (await urlOf(flags.config));
  const tls = {
    ...(flags.ca === undefined ? {} : { ca: readNamed(flags.ca) }),
    ...(flags.clientCert === undefined ? {} : { cert: readNamed(flags.clientCert) }),
    ...(flags.clientKey === undefined ? {} : { key: readNamed(flags.clientKey) }),
  };
  return createAdminClient({ url, token: tokenOf(flags.tokenFile, env), tls });
}

/** The zone of the ledger's days: `--zone`, or what the API says. */
export async function ledgerZone(client: AdminClient, { zone }: { readonly zone?: string }): Promise<string> {
  if (zone !== undefined) return zone;
  const { body } = await client.get(pathOf('status'));
  const told = body['zone'];
  if (typeof told === 'string' && isZone(told)) return told;
  throw new UserError("the admin API does not tell the ledger's zone: name it with --zone");
}

/** Collects an option that may be given several times. */
export function repeated<T>(parse: (text: string) => T): (text: string, all?: readonly T[]) => readonly T[] {
  return (text, all = []) => [...all, parse(text)];
}

/** `a,b` as a list; empty parts are left out. */
export function wordList(text: string): readonly string[] {
  return text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
}

/** A whole number from `least` to `most`. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  };
}

function givenUrl({ admin }: AdminFlags, env: Terminal['env']): string | undefined {
  return admin ?? (env[URL_VARIABLE] || undefined);
}

async function urlOf(config: string): Promise<string> {
  // Reading a configuration takes longer than all the rest.
  const { loadAdminPlace } = await import('../app/load-admin-place.ts');
  const admin = loadAdminPlace(config);
  if (admin === null)
    throw new UserError(
      `${config} has no admin section, so that its server has no admin API. Add one and start the server again:\n` +
        `  admin: { tokens: [{ name: me, role: admin, token: "\${env:${TOKEN_VARIABLE}}" }] }\n` +
        `with ${TOKEN_VARIABLE} (32 characters or more) set for both, or name another server with --admin or ${URL_VARIABLE}`,
    );
  return adminUrl(admin);
}

/** Where the API of a configuration is reached from its own machine. */
export function adminUrl({ address, port, tls }: AdminPlace): string {
  const host = address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '::1' : address;
  return `${tls === null ? 'http' : 'https'}://${addressOf({ host, port })}`;
}

function tokenOf(file: string | undefined, env: Terminal['env']): string {
  const token = (file === undefined ? (env[TOKEN_VARIABLE] ?? '') : readNamed(file)).trim();
  if (token === '') throw new UserError(`no admin token: set ${TOKEN_VARIABLE} or name a --token-file`);
  if (!/^[\x21-\x7e]+$/.test(token)) throw new UserError('the admin token must be one line of visible ASCII');
  return token;
}

/** Text of a file that was named. Throws `UserError`. */
export function readNamed(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new UserError(`cannot read ${file} (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`);
  }
}
