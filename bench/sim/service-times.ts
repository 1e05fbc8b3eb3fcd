import fs from 'node:fs';
import path from 'node:path';

/** What kinds of requests cost a worker, microseconds of CPU; `node bench/micro/service-times.ts` measures and writes it. */
export interface ServiceTimes {
  readonly measured: string;
  readonly machine: string;
  /** Chunks of a stream, which are as many tokens. */
  readonly chunks: number;
  /** Without a transport. `buffered`: a stream for the client, asked for whole. */
  readonly inside: Readonly<Record<'whole' | 'refused' | 'stream' | 'buffered', number>>;
  /** That of a bare server for the same messages. */
  readonly transport: Readonly<Record<'whole' | 'stream', number>>;
}

export const SERVICE_TIMES_FILE = path.join(import.meta.dirname, 'service-times.json');

export function readServiceTimes(): ServiceTimes {
  return JSON.parse(fs.readFileSync(SERVICE_TIMES_FILE, 'utf8')) as ServiceTimes;
}
