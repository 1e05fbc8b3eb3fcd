import http from 'node:http';
import https from 'node:https';
import { NotSent } from '../services/jobs/run-job.ts';
import type { KeptAnswer, KeptRequest } from '../services/jobs/job-content.ts';

/**
 * Sends a job's request to the gateway and reads the whole answer, however long it takes. Rejects when none came, with `NotSent` where
 * there was no connection.
 */
export function sendJob(gateway: string, kept: KeptRequest, token: string, signal: AbortSignal): Promise<KeptAnswer> {
  const [{ request }, opened] = gateway.startsWith('https:') ? [https, 'secureConnect'] : [http, 'connect'];
  const body = Buffer.from(kept.body, 'base64');
  const headers = {
    ...sentOf(kept.headers),
    authorization: `Bearer ${token}`,
    'content-length': String(body.length),
  };
  return new Promise((resolve, reject) => {
    const asked = request(`${gateway}${kept.path}`, { method: 'POST', headers, signal, agent: false });
    let isOpen = false;
    asked.on('socket', (socket) => socket.once(opened, () => (isOpen = true)));
    asked.on('error', (cause) => reject(isOpen ? cause : new NotSent('the gateway could not be reached', { cause })));
    asked.on('response', (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('error', reject);
      response.on('end', () => {
        if (!response.complete) {
          reject(new Error('the answer broke off'));
          return;
        }
        const text = Buffer.concat(pieces).toString('utf8');
        resolve({ status: response.statusCode ?? 0, headers: keptOf(response.headers), body: text });
      });
    });
    asked.end(body);
  });
}

/** A header that came twice goes twice. */
function sentOf(headers: KeptRequest['headers']): Readonly<Record<string, readonly string[]>> {
  const sent = new Map<string, string[]>();
  for (const [name, value] of headers) sent.set(name, [...(sent.get(name) ?? []), value]);
  return Object.fromEntries(sent);
}

/** Of an answer's headers, those that say what it is and who gave it. */
function keptOf(headers: http.IncomingHttpHeaders): Readonly<Record<string, string>> {
  const kept = Object.entries(headers).filter(
    ([name]) =>
      name === 'content-type' || name === 'retry-after' || (name.startsWith('x-') && !name.startsWith('x-envoy-')),
  );
  return Object.fromEntries(kept.map(([name, value]) => [name, String(value)]));
}
