import type { DestinationStream } from 'pino';
import type { Log, LogFields } from '../core/ports/telemetry.ts';
import type { Telemetry } from '../core/snapshot.ts';
import { openLineSink, streamSink } from './line-sink.ts';
import { isFit, redact, redactText } from './redact.ts';

/** Options of the log. */
export interface LogOptions {
  readonly level: Telemetry['logLevel'];
  /** A stream, or the path of a file to append to; standard output when left out. */
  readonly destination?: DestinationStream | string;
  /** Fields of every line (`worker`). */
  readonly base?: Readonly<Record<string, string | number>>;
}

type Level = 'debug' | 'info' | 'warn' | 'error';

const WEIGHT: Readonly<Record<Telemetry['logLevel'], number>> = { trace: 0, debug: 1, info: 2, warn: 3, error: 4 };

/** The log as lines of JSON, one an event. Redacts by key and look, bounds every size, and never throws. */
export function createLog({ level, destination, base = {} }: LogOptions): Log {
  const sink = typeof destination === 'object' ? streamSink(destination) : openLineSink(destination);
  const always = membersOf(base);

  function write(at: Level, message: string, fields: LogFields | undefined, json?: string): void {
    if (WEIGHT[at] < WEIGHT[level]) return;
    try {
      const own =
        fields === undefined ? '' : json !== undefined && isFit(fields) ? bare(json) : membersOf(redact(fields));
      const text = JSON.stringify(redactText(message));
      const line = `{"level":"${at}","time":"${new Date().toISOString()}"${always}${own},"msg":${text}}\n`;
      sink.write(line, WEIGHT[at] >= WEIGHT.warn);
    } catch {
      // A log that cannot be written must not take the request with it, and there is nowhere left to say so.
    }
  }

  return {
    debug: (message, fields) => write('debug', message, fields),
    info: (message, fields, json) => write('info', message, fields, json),
    warn: (message, fields) => write('warn', message, fields),
    error: (message, fields) => write('error', message, fields),
  };
}

/** The members of an object as they stand in a longer one, each after a comma. */
function membersOf(fields: unknown): string {
  return typeof fields === 'object' && fields !== null && !Array.isArray(fields) ? bare(JSON.stringify(fields)) : '';
}

/** The text of an object without its braces, after a comma where there is something in it. */
function bare(json: string): string {
  return json === '{}' ? '' : `,${json.slice(1, -1)}`;
}
