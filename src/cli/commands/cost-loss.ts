import { hostname, userInfo } from 'node:os';
import { Command } from 'commander';
import type { RebuiltFromAudit } from '../../app/rebuild-ledger.ts';
import type { LossAnswer } from '../../core/ports/epoch-store.ts';
import type { Snapshot } from '../../core/snapshot.ts';
import { repeated } from '../admin-command.ts';
import { decimal } from '../limit-words.ts';
import { parseTime } from '../parse-time.ts';
import type { Terminal } from '../terminal.ts';
import { UserError, WordsError } from '../user-error.ts';
import { booksOptions, withBooks, type BooksFlags } from '../with-books.ts';

interface RebuildFlags extends BooksFlags {
  readonly fromAudit?: readonly string[];
  readonly from?: number;
  readonly to?: number;
  readonly dryRun?: boolean;
}

/** `tokenlat cost rebuild`: the ledger from the audit, after Redis lost it. Exits with 1 when the audit has holes. */
export function rebuildCommand(terminal: Terminal): Command {
  const changes = 'Books what the ledger lacks, each request once however often it is run.';
  return booksOptions(new Command('rebuild'), changes)
    .description('book again from the audit log what Redis has lost, and let requests in; 1 when the audit has holes')
    .option(
      '--from-audit <folder>',
      "an audit log; again for the copies of other machines; default: the configuration's",
      repeated(String),
    )
    .option(
      '--from <time>',
      'requests that came then or later (2027-01-31, in UTC, or RFC 3339); default: all',
      parseTime,
    )
    .option('--to <time>', 'requests that came before; default: all', parseTime)
    .option('--dry-run', 'count only')
    .action(async (flags: RebuildFlags) => {
      const { rebuildFromAudit } = await import('../../app/rebuild-ledger.ts');
      const { from, to, dryRun = false } = flags;
      const filter = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
      await withBooks(flags, async (stores) => {
        const dirs = flags.fromAudit ?? [auditOf(stores.snapshot)];
        const report = await rebuildFromAudit({ stores, dirs, filter, dryRun });
        terminal.out(told(report, dryRun));
        if (report.unreadable + report.unfit > 0) {
          terminal.err(`${holes(report)}: \`tokenlat cost accept-loss\` accepts what is missing\n`);
          process.exitCode = 1;
          return;
        }
        if (dryRun) return;
        const answer = answerOf(terminal, { how: 'rebuilt', reason: 'rebuilt from the audit', booked: report.booked });
        if (await stores.epochs.answer(answer)) terminal.out('the loss is mended: requests are let in\n');
      });
    });
}

/** `tokenlat cost accept-loss`: requests are let in on what Redis holds now. */
export function acceptLossCommand(terminal: Terminal): Command {
  const changes = 'Ends the loss for every replica within a second; the audit of each machine records it.';
  return booksOptions(new Command('accept-loss'), changes)
    .description(
      'accept that Redis has lost what it held, and let requests in: limits and sums begin at what it holds now',
    )
    .requiredOption('--reason <text>', 'for the audit')
    .action(async (flags: BooksFlags & { readonly reason: string }) => {
      const reason = flags.reason.trim().slice(0, 500);
      if (reason === '') throw new WordsError('--reason must say something');
      const isEnded = await withBooks(flags, ({ epochs }) =>
        epochs.answer(answerOf(terminal, { how: 'accepted', reason, booked: 0 })),
      );
      if (!isEnded) throw new UserError('Redis has lost nothing that is known');
      terminal.out('the loss is accepted: requests are let in\n');
    });
}

function auditOf({ audit }: Snapshot): string {
  if (audit === null) throw new UserError('the configuration keeps no audit log: name one with --from-audit');
  return audit.dir;
}

function answerOf(terminal: Terminal, answer: Pick<LossAnswer, 'how' | 'reason' | 'booked'>): LossAnswer {
  return { ...answer, by: `${userName()}@${hostname()}`, time: terminal.time() };
}

/** Containers run as users without a name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? 'unknown');
  }
}

function told({ booked, held, events, cost }: RebuiltFromAudit, dryRun: boolean): string {
  const sums = [...cost].map(([currency, sum]) => `, ${decimal(Number(sum))} ${currency}`).join('');
  const missing = dryRun ? 'are missing' : 'were booked again';
  return `${booked} requests ${missing} (${events} events${sums}); ${held} were there\n`;
}

function holes({ unreadable, unfit }: RebuiltFromAudit): string {
  const parts = [
    ...(unreadable > 0 ? [`${unreadable} bytes of the audit are no record`] : []),
    ...(unfit > 0 ? [`${unfit} records do not say what was booked`] : []),
  ];
  return parts.join(', ');
}
