import { z } from 'zod';
import type { DeploymentRecord } from '../../core/directory.ts';
import { STAGES, standingOf } from '../../core/stage.ts';
import { ZONES } from '../../core/zone.ts';
import type { ConfiguredDeployment } from '../admin-deps.ts';

const stage = () => z.enum(STAGES);
const percent = () => z.number().min(0).max(100);

export const deploymentId = () =>
  z
    .string()
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}@[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/,
      'must be a deployment: its model, "@" and its backend',
    );

export const deploymentPatch = z
  .strictObject({
    stage: stage().optional().describe('It goes forward only; a retired one may begin again, as gray.'),
    percent: percent().optional().describe('Of the subjects, while it is gray. Default: as it was; as configured where it becomes gray.'),
  })
  .refine((patch) => Object.keys(patch).length > 0, 'must change something');

export const deploymentView = z
  .object({
    object: z.literal('deployment'),
    id: z.string(),
    model: z.string(),
    backend: z.string(),
    upstream_model: z.string(),
    zone: z.enum(ZONES),
    stage: stage().describe('As it is now: nothing but its share and what is led there; everything; nothing new.'),
    percent: percent().describe('Of the subjects, while it is gray: always the same ones.'),
    configured_stage: stage().describe('As the configuration has it. Where it says something new, that is the later word.'),
    version: z.int().describe('Counts its writes; the `ETag`. 0: nothing was written yet.'),
  })
  .meta({ id: 'Deployment' });

/** A deployment as it stands. */
export function showDeployment(configured: ConfiguredDeployment, decided: DeploymentRecord | null): unknown {
  const { id, model, backend, upstreamModel, zone, stage: configuredStage = 'full' } = configured;
  return {
    object: 'deployment',
    id,
    model,
    backend,
    upstream_model: upstreamModel,
    zone,
    ...standingOf(configured, decided),
    configured_stage: configuredStage,
    version: decided?.version ?? 0,
  };
}
