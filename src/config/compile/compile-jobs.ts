import type { Jobs } from '../../core/job.ts';
import { ownOrigin } from '../own-origin.ts';
import { parsePromptKey } from '../prompt-key.ts';
import type { ConfigDocument } from '../schema/document.ts';

/** Nothing where there is no such section. */
export function compileJobs({ jobs, listen }: ConfigDocument): { readonly jobs?: Jobs } {
  if (jobs === undefined) return {};
  const key = parsePromptKey(jobs.key);
  if (key === null) throw new Error('unchecked key of jobs');
  const own = ownOrigin({ address: listen.address, port: listen.port, tls: listen.tls !== undefined });
  return {
    jobs: {
      key,
      bounds: { count: jobs.count, perTenant: jobs.per_tenant, bytes: jobs.bytes },
      maxAgeMs: jobs.max_age,
      keepMs: jobs.keep,
      once: jobs.answers === 'once',
      concurrency: jobs.concurrency,
      attempts: jobs.attempts,
      gateway: (jobs.gateway ?? own).replace(/\/+$/, ''),
    },
  };
}
