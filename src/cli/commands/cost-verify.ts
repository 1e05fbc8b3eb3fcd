import { Command } from 'commander';
import { jsonText } from '../output.ts';
import { printable } from '../printable.ts';
import type { Terminal } from '../terminal.ts';
import { booksOptions, withBooks, type BooksFlags } from '../with-books.ts';

/** `tokenlat cost verify TENANT`: adds the ledger up anew. Exits with 1 when a sum is wrong. */
export function verifyCommand(terminal: Terminal): Command {
  return booksOptions(new Command('verify'))
    .description(
      'add the events of a tenant up anew and compare with the sums that reports come from; 1 when one is wrong',
    )
    .argument('<tenant>', 'its name')
    .option('--json', 'print JSON')
    .action(async (tenant: string, flags: BooksFlags & { json?: boolean }) => {
      const { spendVerificationLines, verifySpend } = await import('../../cost/verify-spend.ts');
      const result = await withBooks(flags, ({ spend }) => verifySpend({ reader: spend, tenants: [tenant] }));
      if (flags.json === true) terminal.out(jsonText(result));
      else
        terminal.out(
          spendVerificationLines(result)
            .map((line) => `${printable(line)}\n`)
            .join(''),
        );
      if (!result.consistent) process.exitCode = 1;
    });
}
