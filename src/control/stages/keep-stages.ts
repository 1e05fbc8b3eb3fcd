import type { DeploymentRecord } from '../../core/directory.ts';
import type { AuditLog } from '../../core/ports/audit.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { DirectoryStore } from '../../core/ports/directory-store.ts';
import type { StageView } from '../../core/ports/stage-view.ts';
import type { Log, Metrics } from '../../core/ports/telemetry.ts';
import type { Deployment, Snapshot } from '../../core/snapshot.ts';
import { isHeldBack, standingOf } from '../../core/stage.ts';

export interface KeepStagesOptions {
  readonly config: () => Pick<Snapshot, 'models'>;
  readonly store: Pick<DirectoryStore, 'get' | 'put'>;
  /** What was decided, as far as it is known here; null = nothing. */
  readonly decided: (id: string) => DeploymentRecord | null;
  /** Is it known at all? Until then nothing is written. */
  readonly isRead: () => boolean;
  readonly audit: Pick<AuditLog, 'append'>;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'anomaly'>;
  readonly clock: Pick<Clock, 'time'>;
  readonly everyMs?: number;
}

/** Where deployments stand, and the part of the configuration in that. */
export interface KeptStages {
  /** Deployments that the configuration leads back, to where they cannot go, in words. */
  readonly problems: () => readonly string[];
  /** Looks at once; otherwise done on a timer. */
  readonly look: () => Promise<void>;
  readonly close: () => void;
}

/** Where deployments stand by what was decided. */
export function createStageView(decided: KeepStagesOptions['decided']): StageView {
  return { of: (deployment) => standingOf(deployment, decided(deployment.id)) };
}

/**
 * Writes down where the configuration leads deployments, so that it is remembered over restarts and known to all replicas: a
 * stage only goes forward, and who is not told of the way back goes on. Of several that write, the first one does.
 */
export function keepStages(options: KeepStagesOptions): KeptStages {
  const { config, store, decided, isRead, log, metrics, everyMs = 1000 } = options;
  const told = new Set<string>();
  let looking: Promise<void> | null = null;

  async function lookAt(deployment: Deployment): Promise<void> {
    const { id, upstreamModel, stage = 'full' } = deployment;
    const known = decided(id);
    if (known !== null && known.upstreamModel === upstreamModel && known.configured === stage) return;
    if (isHeldBack(deployment, known)) {
      const held = `${id} ${stage}`;
      if (told.has(held)) return;
      told.add(held);
      metrics.anomaly('stage_refused');
      log.warn('a deployment stays at its stage', { deployment: id, stage: known?.stage, configured: stage });
      return;
    }
    // The store's own word, should it be newer than what was heard.
    const stored = await store.get('deployment', id);
    const next = { id, upstreamModel, stage: standingOf(deployment, stored).stage, percent: null, configured: stage };
    if (isHeldBack(deployment, stored) || isSame(stored, next)) return;
    const { kind } = await store.put('deployment', id, next, stored?.version ?? 0);
    if (kind === 'written' && stored !== null) tell(stored, next, options);
  }

  async function lookAtAll(): Promise<void> {
    if (!isRead()) return;
    for (const { deployments } of config().models.values())
      for (const deployment of deployments) await lookAt(deployment);
  }

  function look(): Promise<void> {
    looking ??= lookAtAll()
      .catch((reason: unknown) => {
        log.debug('stages could not be written down', { error: reason instanceof Error ? reason : undefined });
      })
      .finally(() => {
        looking = null;
      });
    return looking;
  }

  const timer = setInterval(() => void look(), everyMs);
  timer.unref();
  return {
    problems: () =>
      [...config().models.values()]
        .flatMap(({ deployments }) => deployments)
        .filter((deployment) => isHeldBack(deployment, decided(deployment.id)))
        .map(({ id, stage }) => `stage of ${id}: stays ${decided(id)?.stage}, the file says ${stage ?? 'full'}`),
    look,
    close: () => clearInterval(timer),
  };
}

type Written = Omit<DeploymentRecord, 'version' | 'createdAt' | 'updatedAt'>;

function isSame(stored: DeploymentRecord | null, next: Written): boolean {
  return (
    stored !== null &&
    stored.upstreamModel === next.upstreamModel &&
    stored.configured === next.configured &&
    stored.stage === next.stage
  );
}

/** The first word on a deployment changes nothing. */
function tell(before: DeploymentRecord, next: Written, { audit, log, clock }: KeepStagesOptions): void {
  if (before.stage === next.stage && before.upstreamModel === next.upstreamModel) return;
  const facts = {
    action: 'deployment.stage',
    by: 'configuration',
    deployment: next.id,
    upstream_model: next.upstreamModel,
    before: before.upstreamModel === next.upstreamModel ? before.stage : null,
    stage: next.stage,
  };
  audit.append({ kind: 'system', time: clock.time(), facts });
  log.info('a deployment changed its stage', facts);
}
