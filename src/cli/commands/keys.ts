import { Command, InvalidArgumentError } from 'commander';
import { parseDuration } from '../../config/units.ts';
import type { LimitRule } from '../../core/directory.ts';
import { adminCommand, formatOf, openAdmin, repeated, wordList, type AdminFlags } from '../admin-command.ts';
import { pathOf, type Answer } from '../admin-client.ts';
import { LIMIT_FORM, parseLimit } from '../limit-words.ts';
import { jsonText, showRecord, showRows, type Column } from '../output.ts';
import { deleteRecord, field, givenOf, limitsField } from '../records.ts';
import { processTerminal, type Terminal } from '../terminal.ts';

interface CreateFlags extends AdminFlags {
  readonly tenant: string;
  readonly subject?: string;
  readonly line?: string;
  readonly models?: readonly string[];
  readonly scopes?: readonly string[];
  readonly tag?: readonly (readonly [string, string])[];
  readonly limit?: readonly LimitRule[];
  readonly expires?: string;
}

const LIST = ['id', 'name', 'tenant', 'subject', 'status', 'hint', 'expires_at'].map((name) => field(name));
const RECORD: readonly Column<Answer>[] = [
  ...['id', 'name', 'tenant', 'subject', 'business_line', 'status', 'hint'].map((name) => field(name)),
  ...['models', 'scopes', 'tags'].map((name) => field(name)),
  limitsField('limits'),
  ...['expires_at', 'revoked_at', 'previous_until', 'version', 'created_at', 'updated_at'].map((name) => field(name)),
];
const SECRET = field('secret');

/** `tokenlat keys`: clients' keys. */
export function keysCommand(terminal: Terminal = processTerminal): Command {
  return new Command('keys')
    .description("manage clients' keys")
    .addCommand(listCommand(terminal))
    .addCommand(createCommand(terminal))
    .addCommand(
      adminCommand('show', 'show one key')
        .argument('<id>', 'id of the key')
        .action(async (id: string, flags: AdminFlags) => {
          const { body } = await (await openAdmin(flags, terminal)).get(pathOf('keys', id));
          showRecord(terminal, { format: formatOf(flags), columns: RECORD, row: body });
        }),
    )
    .addCommand(rotateCommand(terminal))
    .addCommand(
      adminCommand('revoke', 'end a key now; its record stays')
        .argument('<id>', 'id of the key')
        .action(async (id: string, flags: AdminFlags) => {
          const body = await (await openAdmin(flags, terminal)).write('POST', pathOf('keys', id, 'revoke'));
          showRecord(terminal, { format: formatOf(flags), columns: RECORD, row: body });
        }),
    )
    .addCommand(
      adminCommand('delete', 'delete a key and all that is known of it')
        .argument('<id>', 'id of the key')
        .action(async (id: string, flags: AdminFlags) => {
          const body = await deleteRecord(await openAdmin(flags, terminal), pathOf('keys', id));
          terminal.out(formatOf(flags) === 'json' ? jsonText(body) : '');
        }),
    );
}

function listCommand(terminal: Terminal): Command {
  return adminCommand('list', 'list keys')
    .option('--tenant <name>', 'only of this tenant')
    .action(async (flags: AdminFlags & { tenant?: string }) => {
      const rows = await (await openAdmin(flags, terminal)).list(pathOf('keys'), { tenant: flags.tenant });
      showRows(terminal, { format: formatOf(flags), columns: LIST, rows });
    });
}

function createCommand(terminal: Terminal): Command {
  return adminCommand('create', 'make a key; its secret is printed once')
    .argument('<name>', 'for people')
    .requiredOption('--tenant <name>', 'whose key it is')
    .option('--subject <name>', 'whose requests they count as; default: the name')
    .option('--line <name>', 'business line of that tenant')
    .option('--models <list>', 'models that it may use, comma-separated; default: *', wordList)
    .option('--scopes <list>', 'scopes, comma-separated', wordList)
    .option('--tag <name=text>', 'a note of your own; again for more', repeated(parseTag))
    .option('--limit <limit>', `a limit of its own; again for more: ${LIMIT_FORM}`, repeated(parseLimit))
    .option('--expires <when>', 'after a duration (90d), or at a time (2027-01-31T00:00:00Z); default: never')
    .action(async (name: string, flags: CreateFlags) => {
      const body = givenOf({
        name,
        tenant: flags.tenant,
        subject: flags.subject,
        business_line: flags.line,
        models: flags.models,
        scopes: flags.scopes,
        tags: flags.tag === undefined ? undefined : Object.fromEntries(flags.tag),
        limits: flags.limit,
        expires_at: flags.expires === undefined ? undefined : expiryOf(flags.expires, terminal.time()),
      });
      showSecret(terminal, flags, await (await openAdmin(flags, terminal)).write('POST', pathOf('keys'), { body }));
    });
}

function rotateCommand(terminal: Terminal): Command {
  return adminCommand('rotate', 'give a key a new secret, which is printed once')
    .argument('<id>', 'id of the key')
    .option('--grace <duration>', 'how long the old secret still opens', parseGrace, 0)
    .action(async (id: string, flags: AdminFlags & { grace: number }) => {
      const client = await openAdmin(flags, terminal);
      // Of two who rotate at once, one must hear of it: the other's secret would end at once.
      const { etag } = await client.get(pathOf('keys', id));
      const options = { body: { grace_seconds: flags.grace }, etag };
      showSecret(terminal, flags, await client.write('POST', pathOf('keys', id, 'rotate'), options));
    });
}

function showSecret(terminal: Terminal, flags: AdminFlags, body: Answer): void {
  showRecord(terminal, { format: formatOf(flags), columns: [...RECORD, SECRET], row: body });
  terminal.err(
    typeof body['secret'] === 'string'
      ? 'tokenlat: the secret is shown this once and kept nowhere: put it where it belongs now\n'
      : `tokenlat: done, but the secret was lost on the way: tokenlat keys rotate ${String(body['id'])} gives another one\n`,
  );
}

function parseTag(text: string): readonly [string, string] {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('A tag is written name=text.');
  return [text.slice(0, at), text.slice(at + 1)];
}

function parseGrace(text: string): number {
  const ms = parseDuration(text);
  if (ms === null) throw new InvalidArgumentError('A duration is written 30m or 8h.');
  return Math.ceil(ms / 1000);
}

function expiryOf(text: string, now: number): string {
  const ms = parseDuration(text);
  return ms === null ? text : new Date(now + ms).toISOString();
}
