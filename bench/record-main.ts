/*
 * A TokenLat worker that tells the bytes of every message that it sends: `record-main CONFIG RUNDIR`. What it says about one
 * request is what the bare echo says about every request.
 */
import { load } from '../src/app/load.ts';
import { startWorker } from '../src/app/worker.ts';
import { encodeProcessingResponse, type ProcessingResponse } from '../src/extproc/codec/processing-response.ts';
import { PROCESS_CODEC } from '../src/extproc/service.ts';
import { createLog } from '../src/telemetry/log.ts';
import type { Canned } from './setups/canned.ts';

const [path = '', runDir = ''] = process.argv.slice(2);
let parts: Record<string, string> = {};
let sent: string[] = [];
let bodies: string[] = [];

function record(message: ProcessingResponse): readonly Buffer[] {
  const bytes = encodeProcessingResponse(message);
  const text = bytes.toString('base64');
  if (message.kind === 'response_body') bodies.push(text);
  else if (message.kind === 'request_body') sent.push(text);
  else if (message.kind === 'request_headers' && message.change.replace === true) parts['attempt'] = text;
  else parts[message.kind] = text;
  return [bytes];
}

function part(name: string): string {
  const text = parts[name];
  if (text === undefined) throw new Error(`nothing was said about ${name}`);
  return text;
}

function canned(): Canned {
  const [first = ''] = bodies;
  return {
    requestHead: part('request_headers'),
    requestBody: sent,
    attempt: parts['attempt'] ?? null,
    responseHead: part('response_headers'),
    body: { first, middle: bodies[Math.floor(bodies.length / 2)] ?? first, last: bodies.at(-1) ?? first },
  };
}

PROCESS_CODEC.encode = record;
const loaded = load(path);
await startWorker({ loaded, index: 0, runDir, replica: 'bench', log: createLog({ level: 'error' }) });
process.on('message', () => {
  process.send?.({ kind: 'canned', canned: canned() });
  parts = {};
  sent = [];
  bodies = [];
});
process.once('disconnect', () => process.exit());
process.send?.({ kind: 'ready' });
