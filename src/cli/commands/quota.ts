import { Command } from 'commander';
import type { LimitUnit, LimitWindow } from '../../core/limit.ts';
import { adminCommand, formatOf, openAdmin, type AdminFlags } from '../admin-command.ts';
import { pathOf, type Answer } from '../admin-client.ts';
import { decimal } from '../limit-words.ts';
import { bar, renderRows, type Column } from '../output.ts';
import { processTerminal, type Terminal } from '../terminal.ts';
import { watch } from '../watch.ts';

interface QuotaRow {
  readonly name: string;
  readonly scope: string;
  readonly unit: LimitUnit;
  readonly window: LimitWindow;
  readonly limit: number;
  readonly remaining: number;
  readonly reset_at: string;
}

interface ShowFlags extends AdminFlags {
  readonly subject?: string;
  readonly model?: string;
  readonly watch?: boolean;
}

/** `tokenlat quota show TENANT`: what is left of its limits. */
export function quotaCommand(terminal: Terminal = processTerminal): Command {
  return new Command('quota').description('look at what is left of limits').addCommand(
    adminCommand('show', 'show where the limits of a tenant stand')
      .argument('<tenant>', 'its name')
      .option('--subject <name>', "with this subject's own limits")
      .option('--model <name>', "with this model's own limits")
      .option('--watch', 'again each second, until Ctrl-C')
      .action(async (tenant: string, flags: ShowFlags) => {
        const client = openAdmin(flags, terminal);
        const draw = async (): Promise<string> => {
          const query = { tenant, subject: flags.subject, model: flags.model };
          const { body } = await client.get(pathOf('quotas'), query);
          return quotaText(body, flags, terminal.time());
        };
        if (flags.watch === true) await watch(terminal, draw);
        else terminal.out(await draw());
      }),
  );
}

function quotaText(body: Answer, flags: ShowFlags, now: number): string {
  const rows = Array.isArray(body['data']) ? (body['data'] as readonly QuotaRow[]) : [];
  return renderRows({ format: formatOf(flags), columns: columnsOf(formatOf(flags) === 'table', now), rows, body });
}

function columnsOf(forEyes: boolean, now: number): readonly Column<QuotaRow>[] {
  // Eyes read an amount of money as a decimal, programs as whole micro-units.
  const amount = (value: number, { unit }: QuotaRow) => (forEyes && unit === 'spend' ? decimal(value) : value);
  return [
    { title: 'limit', name: 'name', value: (row) => row.name },
    { title: 'of', name: 'scope', value: (row) => row.scope },
    { title: 'used', name: 'used', value: (row) => amount(row.limit - row.remaining, row) },
    { title: 'allowed', name: 'limit', value: (row) => amount(row.limit, row) },
    { title: 'left', name: 'remaining', value: (row) => amount(row.remaining, row) },
    { title: '', name: null, value: (row) => bar(row.limit - row.remaining, row.limit) },
    {
      title: 'free in',
      name: 'reset_at',
      value: (row) => (forEyes ? spanOf(Date.parse(row.reset_at) - now) : row.reset_at),
    },
  ];
}

/** `45s`, `12m`, `5h 12m`, `3d 4h`. */
function spanOf(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.ceil(seconds / 60);
  if (minutes < 60) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours}h ${minutes % 60}m` : `${Math.floor(hours / 24)}d ${hours % 24}h`;
}
