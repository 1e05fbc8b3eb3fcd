import { Command } from 'commander';
import type { LimitUnit, LimitWindow } from '../../core/limit.ts';
import { adminCommand, formatOf, openAdmin, watchOption, type AdminFlags } from '../admin-command.ts';
import { pathOf, type Answer } from '../admin-client.ts';
import { decimal } from '../limit-words.ts';
import { bar, renderRows, type Column } from '../output.ts';
import { spanOf } from '../span.ts';
import { processTerminal, type Terminal } from '../terminal.ts';
import { show } from '../watch.ts';

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
  readonly line?: string;
  readonly key?: string;
  readonly subject?: string;
  readonly model?: string;
  readonly watch?: boolean;
}

/** `tokenlat quota show TENANT`: what is left of its limits. */
export function quotaCommand(terminal: Terminal = processTerminal): Command {
  return new Command('quota').description('look at what is left of limits').addCommand(
    watchOption(adminCommand('show', 'show where the limits of a tenant stand, on all levels'))
      .argument('<tenant>', 'its name')
      .option('--line <name>', 'of limits for business lines only those of this one; default: all')
      .option('--key <id>', "with this key's own limits, and those of its subject and business line")
      .option('--subject <name>', "with this subject's own limits")
      .option('--model <name>', 'of limits for models only those for this one; default: all')
      .action(async (tenant: string, flags: ShowFlags) => {
        const client = await openAdmin(flags, terminal);
        const draw = async (): Promise<string> => {
          const { line: business_line, key, subject, model } = flags;
          const { body } = await client.get(pathOf('quotas'), { tenant, business_line, key, subject, model });
          return quotaText(body, flags, terminal.time());
        };
        await show(terminal, flags, draw);
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
