import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Command, Option } from 'commander';
import { streamIdBefore } from '../../cost/export/stream-id-before.ts';
import type { ExportFormat } from '../../cost/export/export-ledger.ts';
import { parseTime } from '../parse-time.ts';
import type { Terminal } from '../terminal.ts';
import { UserError, WordsError } from '../user-error.ts';
import { booksOptions, withBooks, type BooksFlags } from '../with-books.ts';

interface ExportFlags extends BooksFlags {
  readonly tenant?: string;
  readonly from?: number;
  readonly to?: number;
  readonly format: ExportFormat;
  readonly output?: string;
}

/** `tokenlat cost export`: the events of the ledger as a file. */
export function exportCommand(terminal: Terminal): Command {
  return booksOptions(new Command('export'))
    .description('write the events of the ledger as CSV, JSON lines or Parquet')
    .option('--tenant <name>', 'only of this tenant; default: of all')
    .option(
      '--from <time>',
      'requests that came then or later (2027-01-31, in UTC, or RFC 3339); default: all',
      parseTime,
    )
    .option('--to <time>', 'requests that came before; default: now', parseTime)
    .addOption(new Option('--format <format>', 'of the file').choices(['csv', 'jsonl', 'parquet']).default('csv'))
    .option('-o, --output <file>', 'where to; default: standard output')
    .action(async (flags: ExportFlags) => {
      const { tenant = null, from = 0, to = terminal.time(), format, output } = flags;
      if (from > to) throw new WordsError('--from is later than --to');
      if (format === 'parquet' && output === undefined && terminal.screen)
        throw new WordsError('Parquet is not for a screen: name a file with --output');
      const { exportLedger } = await import('../../cost/export/export-ledger.ts');
      await withBooks(flags, async ({ ledger }) => {
        const pieces = exportLedger(ledger, {
          tenant,
          from,
          to,
          format,
          after: from === 0 ? null : streamIdBefore(from),
        });
        await (output === undefined ? toOutput(pieces) : toFile(pieces, output));
      });
    });
}

/** The file is there whole or not at all. It holds who asked for what: nobody else may read it. */
async function toFile(pieces: AsyncIterable<Uint8Array>, path: string): Promise<void> {
  const part = `${path}.part`;
  try {
    await pipeline(Readable.from(pieces), createWriteStream(part, { mode: 0o600 }));
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true }).catch(() => null);
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
    throw new UserError(`cannot write ${path} (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`);
  }
}

async function toOutput(pieces: AsyncIterable<Uint8Array>): Promise<void> {
  const write = (piece: Uint8Array, _: unknown, done: (error?: Error | null) => void): void =>
    void process.stdout.write(piece, done);
  await pipeline(Readable.from(pieces), new Writable({ write })).catch((error: unknown) => {
    // Whoever read it has enough.
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
  });
}
