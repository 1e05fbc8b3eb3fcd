import type { Deployment } from '../snapshot.ts';
import { type Standing, standingOf } from '../stage.ts';

/** Where deployments stand now, at once: for the walk of a request. */
export interface StageView {
  of(deployment: Pick<Deployment, 'id' | 'upstreamModel' | 'stage' | 'percent'>): Standing;
}

/** Where nobody decides at run time. */
export const CONFIGURED_STAGES: StageView = { of: (deployment) => standingOf(deployment, null) };
