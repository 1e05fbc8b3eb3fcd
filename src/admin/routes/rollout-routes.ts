import { createHash } from 'node:crypto';
import type { z } from 'zod';
import type { RolloutRecord } from '../../core/directory.ts';
import { endedAs } from '../../core/ended-rollout.ts';
import type { RolloutPart, RolloutStatus } from '../../core/rollout.ts';
import type { AdminDeps, CheckedCandidate } from '../admin-deps.ts';
import { AdminError } from '../http/admin-error.ts';
import { route } from '../route.ts';
import type { AdminReply, AdminRequest, AdminRoute } from '../route.ts';
import { rolloutCreate, rolloutView, showRollout } from '../schema/rollout.ts';
import { stale } from './records.ts';
import { newId } from './secret.ts';

const MAX_BODY = 6 * 1024 * 1024;
/** Until then every worker has prepared it, and Envoy knows its backends. */
const LEAD_MS = 2000;
const MOST_TOLD = 5;

type Asked = AdminRequest<unknown, unknown, z.output<typeof rolloutCreate>>;

/** Of a configuration that may hold secrets, the audit names its text only. */
function audited(body: unknown): Readonly<Record<string, string | number | boolean>> {
  const { config, ...rest } = body as z.output<typeof rolloutCreate>;
  return { ...rest, config_sha256: createHash('sha256').update(config).digest('hex') };
}

/** What would be rolled out. Throws a 400 for what cannot be. */
function planOf({ deps, body }: Asked): Extract<CheckedCandidate, { readonly ok: true }> {
  const checked = deps.rollouts.check(body.config);
  if (!checked.ok) throw unfit('It is not fit to run', checked.problems);
  const named = (how: RolloutPart['how']): readonly string[] =>
    checked.parts.filter((each) => each.how === how).map(({ part }) => part);
  const [atRestart, byPercent] = [named('restart'), named('percent')];
  if (atRestart.length > 0) throw unfit('This needs a restart and cannot be rolled out', atRestart);
  if (checked.parts.length === 0) throw unfit('It says the same as the configuration in force', []);
  if (byPercent.length === 0)
    throw unfit(
      'Nothing of it can be tried on a part of the requests: put it in place of the file. It differs in',
      named('promotion'),
    );
  if (!checked.isFileInForce)
    throw new AdminError(
      'conflict',
      'The configuration that was promoted last stands on no disk yet: put it in place of the file first.',
    );
  return checked;
}

function unfit(what: string, all: readonly string[]): AdminError {
  const more = all.length > MOST_TOLD ? `; and ${all.length - MOST_TOLD} more` : '';
  const list = all.length === 0 ? '' : `: ${all.slice(0, MOST_TOLD).join('; ')}${more}`;
  return new AdminError('invalid_value', `${what}${list}.`.slice(0, 2000), { param: 'config' });
}

async function start(request: Asked): Promise<AdminReply> {
  const { deps, body, caller } = request;
  const { parts, digest, base } = planOf(request);
  const before = await deps.directory.get('rollout', 'current');
  const startAt = deps.time() + LEAD_MS;
  const record = {
    id: 'current' as const,
    rollout: newId('rollout'),
    percent: body.percent,
    startAt,
    endAt: startAt + 1000 * body.for_seconds,
    base,
    digest,
    text: body.config,
    criteria: {
      errorIncrease: body.max_error_increase / 100,
      p95Ratio: body.max_p95_ratio,
      minSamples: body.min_samples,
    },
    by: caller.name,
    status: 'running' as const,
    reason: null,
  };
  if (body.dry_run) return { body: showRollout(record, { parts, standing: null, isDryRun: true }) };
  if (before?.status === 'running')
    throw new AdminError('conflict', `${before.rollout} is under way: wait for it, or abort it.`);
  const result = await deps.directory.put('rollout', 'current', record, before?.version ?? 0);
  if (result.kind === 'stale') throw new AdminError('conflict', 'Somebody else began one in between.');
  return { body: showRollout(result.record, { parts, standing: null }), version: result.record.version };
}

const create = route({
  name: 'rollout.start',
  method: 'POST',
  path: '/admin/rollouts',
  summary: 'Roll out a configuration: to a part of the subjects first, then to all',
  description:
    'On every server whose file is the one that is replaced. While both serve, errors and times of the two are compared over all replicas: what is worse is rolled back by itself.',
  rule: { kind: 'role', role: 'admin', tenant: 'none' },
  params: null,
  query: null,
  body: rolloutCreate,
  maxBody: MAX_BODY,
  audited,
  reply: { status: 201, schema: rolloutView, etag: true },
  run: start,
});

async function current(deps: AdminDeps): Promise<RolloutRecord> {
  const record = await deps.directory.get('rollout', 'current');
  if (record === null) throw new AdminError('not_found', 'No configuration was rolled out yet.');
  return record;
}

/** What differs; null where it is in force already, or not kept. */
function partsOf({ text, status }: RolloutRecord, deps: AdminDeps): readonly RolloutPart[] | null {
  if (text === '' || status === 'promoted') return null;
  const checked = deps.rollouts.check(text);
  return checked.ok ? checked.parts : null;
}

const read = route({
  name: 'rollout.read',
  method: 'GET',
  path: '/admin/rollouts/current',
  summary: 'The roll-out that is under way, or the last one',
  rule: { kind: 'role', role: 'viewer', tenant: 'none' },
  params: null,
  query: null,
  body: null,
  reply: { status: 200, schema: rolloutView, etag: true },
  run: async ({ deps }) => {
    const record = await current(deps);
    const standing = await deps.rollouts.standing(record);
    return { body: showRollout(record, { parts: partsOf(record, deps), standing }), version: record.version };
  },
});

async function end(
  deps: AdminDeps,
  {
    from,
    to,
    reason,
  }: { readonly from: readonly RolloutStatus[]; readonly to: 'promoted' | 'aborted'; readonly reason: string },
): Promise<AdminReply> {
  const record = await current(deps);
  if (!from.includes(record.status)) throw new AdminError('conflict', `${record.rollout} is ${record.status} already.`);
  const ended = endedAs(record, to, reason);
  const result = await deps.directory.put('rollout', 'current', ended, record.version);
  if (result.kind === 'stale') throw stale(result.current?.version ?? null);
  const standing = await deps.rollouts.standing(result.record);
  return { body: showRollout(result.record, { parts: null, standing }), version: result.record.version };
}

const abort = route({
  name: 'rollout.abort',
  method: 'POST',
  path: '/admin/rollouts/current/abort',
  summary: 'Take a roll-out back: the file is in force for all',
  description: 'Also one that was promoted, as long as it stands on no disk.',
  rule: { kind: 'role', role: 'operator', tenant: 'none' },
  params: null,
  query: null,
  body: null,
  reply: { status: 200, schema: rolloutView, etag: true },
  run: ({ deps, caller }) =>
    end(deps, { from: ['running', 'promoted'], to: 'aborted', reason: `aborted by ${caller.name}` }),
});

const promote = route({
  name: 'rollout.promote',
  method: 'POST',
  path: '/admin/rollouts/current/promote',
  summary: 'Let it serve all now, whatever was seen',
  rule: { kind: 'role', role: 'admin', tenant: 'none' },
  params: null,
  query: null,
  body: null,
  reply: { status: 200, schema: rolloutView, etag: true },
  run: ({ deps, caller }) => end(deps, { from: ['running'], to: 'promoted', reason: `promoted by ${caller.name}` }),
});

export const rolloutRoutes: readonly AdminRoute[] = [create, read, abort, promote];
