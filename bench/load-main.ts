/* The load generator's process: takes requests and jobs over its channel, one job at a time. */
import type { LoadJob, LoadRequests } from './load/load-job.ts';
import { runLoad } from './load/run-load.ts';

const known = new Map<string, readonly Buffer[]>();

process.on('message', (message: LoadJob | LoadRequests) => {
  if (message.kind === 'requests') {
    const requests = message.requests.map((text) => Buffer.from(text, 'base64'));
    known.set(message.key, requests);
    process.send?.({ kind: 'known' });
    return;
  }
  void runLoad(message, known.get(message.key) ?? []).then((result) => process.send?.({ kind: 'result', result }));
});
process.once('disconnect', () => process.exit());
process.send?.({ kind: 'ready' });
