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
