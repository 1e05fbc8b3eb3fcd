import { z } from 'zod';
import type { DeploymentRecord } from '../../core/directory.ts';
import { mayBecome, nextOf, standingOf } from '../../core/stage.ts';
import type { ConfiguredDeployment } from '../admin-deps.ts';
import { AdminError } from '../http/admin-error.ts';
import { route } from '../route.ts';
import type { AdminRequest, AdminRoute } from '../route.ts';
import { deploymentId, deploymentPatch, deploymentView, showDeployment } from '../schema/deployment.ts';
import { listOf, pageQuery } from '../schema/scalar.ts';
import { pageOf, readCursor } from './cursor.ts';
import { checkVersion, stale } from './records.ts';

const byId = z.strictObject({ id: deploymentId() });

interface Found {
  readonly configured: ConfiguredDeployment;
  readonly decided: DeploymentRecord | null;
}

async function load(request: AdminRequest<{ readonly id: string }, unknown, unknown>): Promise<Found> {
  const { deps, params } = request;
  const configured = deps.deployments().find(({ id }) => id === params.id);
  if (configured === undefined)
    throw new AdminError(
      'not_found',
      'There is no such deployment; `tokenlat deployments list` shows those that there are.',
    );
  return { configured, decided: await deps.directory.get('deployment', params.id) };
}

const list = route({
  name: 'deployment.list',
  method: 'GET',
  path: '/admin/deployments',
  summary: 'Deployments and their stages, in order of id',
  rule: { kind: 'role', role: 'viewer', tenant: 'none' },
  params: null,
  query: z.strictObject(pageQuery()),
  body: null,
  reply: { status: 200, schema: listOf(deploymentView) },
  run: async ({ deps, query: { cursor, limit } }) => {
    const after = readCursor(cursor);
    const found = deps.deployments().filter(({ id }) => after === null || id > after);
    const page = pageOf(found.slice(0, limit + 1), limit, ({ id }) => id);
    const data = await Promise.all(
      page.items.map(async (each) => showDeployment(each, await deps.directory.get('deployment', each.id))),
    );
    return { body: { object: 'list', data, next_cursor: page.next_cursor } };
  },
});

const get = route({
  name: 'deployment.get',
  method: 'GET',
  path: '/admin/deployments/{id}',
  summary: 'One deployment and its stage',
  rule: { kind: 'role', role: 'viewer', tenant: 'none' },
  params: byId,
  query: null,
  body: null,
  reply: { status: 200, schema: deploymentView, etag: true },
  run: async (request) => {
    const { configured, decided } = await load(request);
    return { body: showDeployment(configured, decided), version: decided?.version ?? 0 };
  },
});

const patch = route({
  name: 'deployment.update',
  method: 'PATCH',
  path: '/admin/deployments/{id}',
  summary: 'Change the stage of a deployment, or its share while it is gray',
  description:
    'From gray to full to retired, and no way back; a retired one may begin again, as gray. Requests that run there run to their end. Every replica follows within a second.',
  rule: { kind: 'role', role: 'operator', tenant: 'none' },
  params: byId,
  query: null,
  body: deploymentPatch,
  ifMatch: 'required',
  reply: { status: 200, schema: deploymentView, etag: true },
  run: async (request) => {
    const { configured, decided } = await load(request);
    const { body, deps } = request;
    const version = decided?.version ?? 0;
    checkVersion(request, version);
    const before = standingOf(configured, decided);
    const { stage = before.stage } = body;
    if (!mayBecome(before.stage, stage))
      throw new AdminError('conflict', `It is ${before.stage}: it may become ${nextOf(before.stage)}.`, {
        param: 'stage',
      });
    const begins = before.stage === 'retired' && stage === 'gray';
    const kept = begins || decided?.upstreamModel !== configured.upstreamModel ? null : decided.percent;
    const next = {
      id: configured.id,
      upstreamModel: configured.upstreamModel,
      stage,
      percent: body.percent ?? kept,
      configured: configured.stage ?? 'full',
    };
    const result = await deps.directory.put('deployment', configured.id, next, version);
    if (result.kind === 'stale') throw stale(result.current?.version ?? null);
    return { body: showDeployment(configured, result.record), version: result.record.version };
  },
});

export const deploymentRoutes: readonly AdminRoute[] = [list, get, patch];
