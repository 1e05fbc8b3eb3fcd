import { type DestinationStream, pino } from 'pino';
import type { Log, LogFields } from '../core/ports/telemetry.ts';
import type { Telemetry } from '../core/snapshot.ts';
import { redact, redactText } from './redact.ts';

/** Options of the log. */
export interface LogOptions {
  readonly level: Telemetry['logLevel'];
  /** A stream, or the path of a file to append to; standard output when left out. */
  readonly destination?: DestinationStream | string;
  /** Fields of every line (`worker`). */
  readonly base?: Readonly<Record<string, string | number>>;
}

type Level = 'debug' | 'info' | 'warn' | 'error';

/** The log as lines of JSON, one an event. Redacts by key and look, bounds every size, and never throws. */
export function createLog({ level, destination, base }: LogOptions): Log {
  const options = {
    level,
    base: base ?? null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  const stream = typeof destination === 'string' ? pino.destination({ dest: destination, sync: true }) : destination;
  const logger = stream === undefined ? pino(options) : pino(options, stream);

  function write(at: Level, message: string, fields: LogFields | undefined): void {
    try {
      if (!logger.isLevelEnabled(at)) return;
      logger[at](fields === undefined ? {} : (redact(fields) as object), redactText(message));
    } catch {
      // A log that cannot be written must not take the request with it, and there is nowhere left to say so.
    }
  }

  return {
    debug: (message, fields) => write('debug', message, fields),
    info: (message, fields) => write('info', message, fields),
    warn: (message, fields) => write('warn', message, fields),
    error: (message, fields) => write('error', message, fields),
  };
}
