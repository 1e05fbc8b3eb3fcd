import { type DestinationStream, pino } from 'pino';

/** Where finished lines go. */
export interface LineSink {
  /** Takes one line; `urgent` ones are on their way when it returns, with all before them. */
  write(line: string, urgent: boolean): void;
}

/** How long an ordinary line may wait for others: a write for each costs more than making it. */
const LINGER_MS = 20;
/** UTF-16 units that may wait. */
const MAX_WAITING = 16 * 1024;

/** Standard output, or the file at `path` to append to. Lines of a few milliseconds go out together, and at exit what waits. */
export function openLineSink(path?: string): LineSink {
  const destination = pino.destination(path === undefined ? { fd: 1, sync: false } : { dest: path, sync: true });
  let waiting = '';
  let timer: NodeJS.Timeout | null = null;
  const send = (): void => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (waiting === '') return;
    const lines = waiting;
    waiting = '';
    destination.write(lines);
  };
  process.once('exit', () => {
    try {
      send();
      destination.flushSync();
    } catch {
      // Nobody is left to be told.
    }
  });
  return {
    write(line, urgent) {
      waiting += line;
      if (urgent || waiting.length >= MAX_WAITING) send();
      else timer ??= setTimeout(send, LINGER_MS).unref();
    },
  };
}

/** Lines go to a stream of the caller's, each at once. */
export function streamSink(stream: DestinationStream): LineSink {
  return {
    write(line) {
      stream.write(line);
    },
  };
}
