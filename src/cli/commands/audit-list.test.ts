import assert from 'node:assert/strict';
import { test } from 'node:test';
import { START } from '../../admin/admin-kit.test.ts';
import type { AuditEntry } from '../../core/ports/audit.ts';
import { ApiError } from '../api-error.ts';
import { UserError } from '../user-error.ts';
import { cliKit } from '../cli-kit.test.ts';
import { auditCommand } from './audit.ts';

const entries = Array.from({ length: 450 }, (_, index): { id: string; entry: AuditEntry } => ({
  id: String(999 - index),
  entry:
    index % 2 === 0
      ? {
          kind: 'admin',
          time: START - index,
          facts: {
            action: 'key.create',
            outcome: 'refused',
            status: 403,
            code: 'role_required',
            caller: 'ops',
            tenant: 'acme',
            target: { id: 'key_1' },
            request_id: 'adm-1',
          },
        }
      : {
          kind: 'request',
          time: START - index,
          facts: {
            requested_model: 'chat',
            model: 'm1',
            outcome: 'complete',
            status: 200,
            error: null,
            subject: '\u001b[2Jann',
            tenant: 'acme',
            request_id: 'r-1',
          },
        },
}));
const asked: unknown[] = [];
const kit = await cliKit({
  audit: {
    log: { append: () => {}, state: () => 'ok' },
    reader: {
      read: async ({ after, count, ...filter }) => {
        asked.push(filter);
        return entries.filter(({ id }) => after === null || id < after).slice(0, count);
      },
    },
  },
});

test('entries of both kinds are read by the same columns, and steer no terminal', async () => {
  const { out, error } = await kit.run(auditCommand, ['list', '-n', '2']);
  assert.equal(error, null);
  const [title, , admin, request, ...rest] = out.split('\n');
  assert.match(title ?? '', /^at +kind +what +outcome +status +code +who +tenant +on +request$/);
  assert.match(
    admin ?? '',
    /^2026-11-30T10:00:00\.000Z +admin +key\.create +refused +403 +role_required +ops +acme +\{"id":"key_1"\} +adm-1$/,
  );
  assert.match(request ?? '', /^2026-11-30T09:59:59\.999Z +request +chat +complete +200 +\S*\[2Jann +acme +m1 +r-1$/);
  assert.ok(!out.includes('\u001b'));
  assert.deepEqual(rest, ['']);
});

test('as many as are asked for, over pages, and no more', async () => {
  const many = await kit.run(auditCommand, ['list', '-n', '401', '--json']);
  assert.equal((many.json()['data'] as unknown[]).length, 401);
  const all = await kit.run(auditCommand, ['list', '-n', '5000', '--csv']);
  assert.equal(all.out.split('\r\n').length, 452);
});

test('filters reach the API; odd ones are told', async () => {
  const words = ['--tenant', 'acme', '--kind', 'admin', '--from', '2026-11-01', '--to', '2026-12-01T00:00:00+01:00'];
  await kit.run(auditCommand, ['list', ...words]);
  assert.deepEqual(asked.at(-1), {
    tenant: 'acme',
    kind: 'admin',
    from: Date.parse('2026-11-01T00:00:00Z'),
    to: Date.parse('2026-11-30T23:00:00Z'),
  });
  for (const odd of [
    ['--kind', 'x'],
    ['--from', 'yesterday'],
    ['-n', '0'],
  ])
    assert.equal((await kit.run(auditCommand, ['list', ...odd])).error?.name, 'CommanderError', odd.join(' '));
  const { error } = await kit.run(auditCommand, ['list'], { as: 'operator' });
  assert.ok(error instanceof ApiError && error.exitCode === 5);
});

test('without an audit section there is no list', async () => {
  const status = async () => ({ version: '1', zone: 'UTC', currency: 'USD', generation: 1, audit: null, sink: null });
  const log = { append: () => {}, state: () => 'ok' as const };
  const audit = { log, reader: { read: async () => [] } };
  const none = await (await cliKit({ audit, status })).run(auditCommand, ['list']);
  assert.ok(none.error instanceof UserError);
  assert.match(none.error.message, /^this configuration keeps no audit log: it has no audit section$/);
  assert.equal(none.out, '');
  const empty = await (await cliKit({ audit })).run(auditCommand, ['list', '--csv']);
  assert.deepEqual([empty.error, empty.out.startsWith('at,kind')], [null, true]);
});
