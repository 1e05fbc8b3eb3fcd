/** Where a deployment, or a model, stands in its life. Retired ones get nothing new; what runs there runs to its end. */
export const STAGES = ['gray', 'full', 'retired'] as const;
export type Stage = (typeof STAGES)[number];

/** A stage, and the part of the subjects that a gray one gets, percent. */
export interface Standing {
  readonly stage: Stage;
  readonly percent: number;
}

/** What somebody decided of a deployment at run time, and of which one: the same name with another model behind is another. */
export interface StageDecision {
  readonly stage: Stage;
  /** Null: as configured. */
  readonly percent: number | null;
  readonly upstreamModel: string;
  /** What the configuration said then. When it says something new since, that is the later word. */
  readonly configured: Stage;
}

/** As the configuration has it; what is left out: `full`, 0. */
export interface ConfiguredStage extends Partial<Standing> {
  readonly upstreamModel: string;
}

const RANK: Readonly<Record<Stage, number>> = { gray: 0, full: 1, retired: 2 };

/** Is it the same stage, or a later one? */
export function isForward(from: Stage, to: Stage): boolean {
  return RANK[to] >= RANK[from];
}

/** May an operator lead a deployment from one stage to the other? Forward only; a retired one may begin again, as gray. */
export function mayBecome(from: Stage, to: Stage): boolean {
  return isForward(from, to) || (from === 'retired' && to === 'gray');
}

/** What stages one may go to from this one, in words. */
export function nextOf(from: Stage): string {
  return STAGES.filter((to) => to !== from && mayBecome(from, to)).join(' or ');
}

/** Where a deployment stands: as decided, unless the configuration has said something new since, which only leads forward. */
export function standingOf(configured: ConfiguredStage, decided: StageDecision | null): Standing {
  const { upstreamModel, stage = 'full', percent = 0 } = configured;
  if (decided === null || decided.upstreamModel !== upstreamModel) return stage === 'full' ? FULL : { stage, percent };
  if (decided.configured !== stage && isForward(decided.stage, stage)) return { stage, percent };
  return decided.stage === 'full' ? FULL : { stage: decided.stage, percent: decided.percent ?? percent };
}

const FULL: Standing = { stage: 'full', percent: 0 };

/** Does the configuration lead it back, to where it cannot go? It stays where it was decided to be. */
export function isHeldBack(configured: ConfiguredStage, decided: StageDecision | null): boolean {
  const { upstreamModel, stage = 'full' } = configured;
  return (
    decided !== null &&
    decided.upstreamModel === upstreamModel &&
    decided.configured !== stage &&
    !isForward(decided.stage, stage)
  );
}
