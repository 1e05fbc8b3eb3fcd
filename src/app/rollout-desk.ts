import type { RolloutDesk } from '../admin/admin-deps.ts';
import { mergeFigures } from '../control/rollout/figures.ts';
import { judge, p95Of } from '../control/rollout/judge.ts';
import type { ArmFigures } from '../core/rollout.ts';
import type { Stores } from '../store/stores.ts';
import type { Operators } from './follow-operators.ts';
import { decidedOn } from './follow-stages.ts';
import type { LiveConfig } from './live-config.ts';
import { loadCandidate } from './load-candidate.ts';
import type { Steered } from './steer.ts';

export interface RolloutDeskOptions {
  readonly config: LiveConfig;
  readonly steered: Pick<Steered, 'rollouts'>;
  readonly stores: Pick<Stores, 'rolloutFigures'>;
  readonly operators: Pick<Operators, 'directory'>;
}

/** What the admin API asks about roll-outs. */
export function rolloutDesk({ config, steered, stores, operators }: RolloutDeskOptions): RolloutDesk {
  return {
    check(text) {
      const old = config.file();
      const decided = decidedOn(operators.directory, config.file);
      const candidate = loadCandidate({ path: config.path, old, text, decided });
      if (!candidate.ok) return candidate;
      const { parts, digest } = candidate;
      return { ok: true, parts, digest, base: old.source ?? '', isFileInForce: !steered.rollouts.isPromoted };
    },
    async standing(record) {
      const figures = mergeFigures(await stores.rolloutFigures.read(record.rollout));
      const verdict = judge(figures, record.criteria);
      return { old: shown(figures.old), new: shown(figures.new), verdict };
    },
  };
}

const shown = (arm: ArmFigures) => ({ requests: arm.requests, errors: arm.errors, p95Ms: p95Of(arm) });
