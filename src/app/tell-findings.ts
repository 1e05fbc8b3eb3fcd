import type { Finding } from '../core/finding.ts';
import type { ProbeMetrics } from '../core/ports/probe-metrics.ts';
import type { Log } from '../core/ports/telemetry.ts';
import type { FindingChange } from '../routing/findings.ts';

export interface TellFindingsOptions {
  readonly log: Log;
  readonly figures: Pick<ProbeMetrics, 'factor'>;
  /** Does this process look itself? What others found they tell of. */
  readonly isLooking: () => boolean;
}

/** Tells people of what probes found, once a change. */
export function createTellFindings({ log, figures, isLooking }: TellFindingsOptions): (change: FindingChange) => void {
  return ({ incarnation, source, before, after }) => {
    const [deployment = ''] = incarnation.split(' ', 1);
    const factor = after?.factor ?? 1;
    if (factor !== (before?.factor ?? 1)) figures.factor(deployment, source, factor);
    if (standing(before) === standing(after)) return;
    const fields = {
      deployment,
      source,
      factor: Math.round(factor * 1000) / 1000,
      reason: after?.reason,
      detail: after?.detail,
    };
    if (!isLooking()) log.debug('another process found', fields);
    else if (after === null) log.info('a deployment is well again', { ...fields, reason: before?.reason });
    else log.warn(after.factor === 0 ? 'a deployment gets nothing more' : 'a deployment gets less', fields);
  };
}

/** What has to change to be worth a line: not every figure. */
function standing(finding: Finding | null): string {
  return finding === null ? 'well' : `${finding.factor === 0 ? 'out' : 'less'} ${finding.reason}`;
}
