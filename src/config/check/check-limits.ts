import { compileLimits } from '../compile/compile-limits.ts';
import type { Path } from '../problem.ts';
import type { CheckContext } from './finding.ts';

/** Rules about what a backend or a deployment takes. */
export function checkLimits(
  { problem, warn }: Pick<CheckContext, 'problem' | 'warn'>,
  limits: CheckContext['document']['backends'][number]['limits'],
  path: Path,
): void {
  if (limits === undefined) return;
  if (limits.concurrency !== undefined && limits.per_instance !== undefined)
    problem([...path, 'per_instance'], 'stands in place of concurrency: keep one');
  if (limits.safety !== undefined && limits.per_instance === undefined && limits.concurrency !== undefined)
    warn([...path, 'safety'], 'has no effect on concurrency: it is a part of per_instance');
}

/** A queue fills only where something bounds what is given on. Told once for each place where one is written. */
export function checkQueues({ document, warn }: Pick<CheckContext, 'document' | 'warn'>): void {
  const idle = new Map<string, Path>();
  document.models.forEach((model, index) =>
    model.deployments.forEach(({ backend, limits: own, profile }, at) => {
      const standsAt = document.backends.findIndex(({ name }) => name === backend);
      const shared = document.backends[standsAt]?.limits;
      const { concurrency, rates, queue } = compileLimits({
        short: profile.max_concurrency,
        own,
        shared,
        endpoints: 1,
      });
      if (queue.size === 0 || concurrency !== null || rates !== null) return;
      const isOwn = own?.queue?.size !== undefined;
      const path = isOwn ? ['models', index, 'deployments', at] : ['backends', standsAt];
      idle.set(path.join('.'), [...path, 'limits', 'queue']);
    }),
  );
  for (const path of idle.values())
    warn(
      path,
      'has no effect without a limit: give concurrency, per_instance, requests_per_second or tokens_per_second',
    );
}
