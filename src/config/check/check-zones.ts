import type { CheckContext } from './finding.ts';

/** Rules about zones. */
export function checkZones({ document, warn }: CheckContext): void {
  const { backends, zones } = document;
  const used = new Set(backends.map(({ zone }) => zone));
  if (zones !== undefined && used.size === 1 && used.has('hot'))
    warn(['zones'], 'keeps batch work to what hot backends have to spare: no backend has the zone batch');
  if (!used.has('batch') && zones === undefined) return;
  const below = zones?.batch_uses_hot_below ?? 0.5;
  const isBound = (name: string): boolean =>
    document.models.some(({ deployments }) =>
      deployments.some(
        ({ backend, limits, profile }) =>
          backend === name && (limits?.concurrency !== undefined || profile.max_concurrency !== undefined),
      ),
    );
  backends.forEach(({ name, zone, limits }, index) => {
    if (zone === 'hot' && below > 0 && limits?.concurrency === undefined && !isBound(name))
      warn(
        ['backends', index],
        `"${name}" has no limits.concurrency: how busy it is cannot be told, and batch work stays away`,
      );
  });
}
