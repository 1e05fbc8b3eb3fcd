import { writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { findEnvoy } from '../../src/app/envoy-process.ts';
import { waitUntil } from '../../src/app/wait-until.ts';
import type { Payload } from '../payload.ts';
import { startProgram } from './child-process.ts';

/** How long a program may take until it answers. */
export const START_MS = 60_000;

export interface EnvoyPlace {
  readonly dir: string;
  /** Its admin port, as the bootstrap says. */
  readonly admin: number;
  /** As many threads as the gateway behind it has workers. */
  readonly workers: number;
  readonly stops: (() => Promise<void>)[];
}

/** Starts Envoy and waits until it is ready. Gives its process id. */
export async function startEnvoy({ dir, admin, workers, stops }: EnvoyPlace, file: string): Promise<number> {
  const logFile = join(dir, 'envoy.log');
  const envoy = await startProgram({
    command: findEnvoy(),
    args: `-c ${file} --concurrency ${workers} --use-dynamic-base-id --log-level warning`.split(' '),
    logFile,
  });
  stops.push(() => envoy.stop());
  if (!(await waitUntil(() => answers(`http://127.0.0.1:${admin}/ready`), { timeoutMs: START_MS }))) {
    throw new Error(`Envoy did not start; see ${logFile}`);
  }
  return envoy.pid;
}

/** Waits until `payload` is answered well. */
export async function untilServed(
  { name, dir, port }: { readonly name: string; readonly dir: string; readonly port: number },
  payload: Payload,
): Promise<void> {
  let last = 'nothing';
  const served = await waitUntil(
    async () => {
      last = await statusOf(port, payload);
      return last === '200';
    },
    { timeoutMs: START_MS, everyMs: 100 },
  );
  if (served) return;
  writeFileSync(join(dir, 'last-answer.txt'), last);
  throw new Error(`${name} does not serve ${payload.name} (${last.slice(0, 200)}); see ${dir}`);
}

/** Is the answer to a GET a good one? */
export async function answers(url: string): Promise<boolean> {
  return fetch(url, { signal: AbortSignal.timeout(1000) }).then(
    (response) => response.ok,
    () => false,
  );
}

/** `200` for a whole good answer; anything else tells what came instead. */
function statusOf(port: number, payload: Payload): Promise<string> {
  return new Promise((resolve) => {
    const headers = { ...payload.headers, 'content-length': payload.body.length };
    const sent = request({ port, host: '127.0.0.1', method: 'POST', path: payload.path, headers }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.once('close', () => {
        const isGood = response.statusCode === 200 && response.complete;
        resolve(isGood ? '200' : `${response.statusCode} ${Buffer.concat(parts).toString()}`);
      });
    });
    sent.once('error', (error) => resolve(error.message));
    sent.end(payload.body);
  });
}
