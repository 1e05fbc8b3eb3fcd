/* The load generator's process: takes jobs over its channel, one at a time. */
import type { LoadJob } from './load/load-job.ts';
import { runLoad } from './load/run-load.ts';

process.on('message', (job: LoadJob) => {
  void runLoad(job).then((result) => process.send?.({ kind: 'result', result }));
});
process.once('disconnect', () => process.exit());
process.send?.({ kind: 'ready' });
