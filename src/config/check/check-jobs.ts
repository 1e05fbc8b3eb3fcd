import { parsePromptKey } from '../prompt-key.ts';
import type { CheckContext } from './finding.ts';

/** Rules about jobs. */
export function checkJobs({ document, ownRedis, problem, warn }: CheckContext): void {
  const { jobs, redis } = document;
  if (jobs === undefined) return;
  if (parsePromptKey(jobs.key) === null)
    problem(['jobs', 'key'], 'must be 32 bytes, as 64 hex digits or in base64: openssl rand -hex 32 makes one');
  if (redis === undefined && !ownRedis) warn(['jobs'], 'are gone with their worker: name redis');
}
