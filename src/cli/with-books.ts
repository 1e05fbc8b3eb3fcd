import type { Command } from 'commander';
import type { openReading } from '../app/open-reading.ts';
import { StoreUnavailable } from '../core/ports/quota-store.ts';
import { UserError } from './user-error.ts';

/** Options of commands that read the ledger where it is kept. */
export interface BooksFlags {
  readonly config: string;
  readonly state: string;
}

type Books = Awaited<ReturnType<typeof openReading>>;

/** Adds them, and says so: the admin API has no route for this. `changes`: what the command changes. */
export function booksOptions(command: Command, changes = 'Changes nothing.'): Command {
  return command
    .option('-c, --config <file>', 'configuration file', 'tokenlat.yaml')
    .option('--state <folder>', 'state folder of a running `tokenlat up`', '.tokenlat')
    .addHelpText(
      'after',
      `\nAsks Redis itself, not the admin API: run it where the configuration is and Redis can be reached. ${changes}`,
    );
}

/** Opens the ledger for `work` and closes it. Throws `ConfigError`, `StartupError`, and `UserError` when Redis is gone. */
export async function withBooks<T>({ config, state }: BooksFlags, work: (books: Books) => Promise<T>): Promise<T> {
  const opened = await import('../app/open-reading.ts');
  const books = await opened.openReading(config, state);
  try {
    return await work(books);
  } catch (error) {
    if (error instanceof StoreUnavailable) throw new UserError(`Redis went away: ${error.message}`);
    throw error;
  } finally {
    await books.close();
  }
}
