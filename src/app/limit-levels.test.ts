import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KeyRecord, LimitRule, LineRecord, TenantRecord } from '../core/directory.ts';
import { limitName, type LimitWindow } from '../core/limit.ts';
import type { RecordOf } from '../core/ports/directory-store.ts';
import type { Snapshot, TenantLimit } from '../core/snapshot.ts';
import { limitLevels, type LimitLevelsOptions } from './limit-levels.ts';

const DAY: LimitWindow = { kind: 'calendar', unit: 'day' };
const rule = (limit: number, model: string | null = null): LimitRule => ({ unit: 'tokens', window: DAY, limit, model });
const KEY = { id: 'key_1', limits: [rule(5), rule(6, 'm')] } as unknown as KeyRecord;

function world(
  change: { readonly lines?: readonly string[]; readonly limits?: readonly TenantLimit[]; readonly zone?: string } = {},
) {
  const { lines = ['ads', 'search'], limits = [], zone = 'UTC' } = change;
  const tenant = { name: 'acme', tier: 'standard', businessLine: 'default', limits };
  const pages: (string | null)[] = [];
  const options: Omit<LimitLevelsOptions, 'subject' | 'model' | 'businessLine' | 'key'> = {
    config: {
      tenants: new Map([['acme', tenant]]),
      tenantDefaults: { ...tenant, limits: [] },
      aliases: new Map([['nick', 'm']]),
      ledger: { zone },
    } as unknown as Snapshot,
    directory: {
      tenant: () =>
        ({ limits: [rule(1), rule(2, 'm'), rule(3, 'n')], subjectLimits: [rule(4)] }) as unknown as TenantRecord,
      line: (_, name) =>
        lines.includes(name) ? ({ limits: [rule(lines.indexOf(name) + 100)] } as unknown as LineRecord) : null,
      budgets: () => [{ businessLine: null, period: 'month' }] as never,
    },
    store: {
      list: async (_kind, { after, count }) => {
        pages.push(after);
        const sorted = lines.toSorted();
        const from = after === null ? 0 : sorted.indexOf(after.slice('acme/'.length)) + 1;
        return sorted.slice(from, from + count).map((name) => ({ name })) as unknown as RecordOf<'line'>[] as never;
      },
    },
    tenant: 'acme',
  };
  const read = async (who: Partial<LimitLevelsOptions> = {}) =>
    (await limitLevels({ ...options, subject: null, model: null, businessLine: null, key: null, ...who })).map(
      (line) => `${line.scope} ${limitName(line)} ${line.limit}`,
    );
  return { read, pages, options };
}

test('with nothing named: the tenant, every business line, every model, no subject, and no counter of a budget', async () => {
  assert.deepEqual(await world().read(), [
    'tenant tokens_per_day 1',
    'line:ads tokens_per_day 100',
    'line:search tokens_per_day 101',
    'model:m tokens_per_day 2',
    'model:n tokens_per_day 3',
  ]);
});

test('what is named narrows lines and models, and adds subject and key', async () => {
  const named = { subject: 'ann', model: 'nick', businessLine: 'search', key: KEY };
  assert.deepEqual(await world().read(named), [
    'tenant tokens_per_day 1',
    'line:search tokens_per_day 101',
    'key:key_1 tokens_per_day 5',
    'subject:ann tokens_per_day 4',
    'model:m tokens_per_day 2',
    'model:m|key:key_1 tokens_per_day 6',
  ]);
});

test('business lines of the configuration are found without a record', async () => {
  const limits: readonly TenantLimit[] = [
    { unit: 'tokens', window: DAY, limit: 50, per: 'line', businessLine: 'sales' },
    { unit: 'requests', window: DAY, limit: 7, per: 'subject' },
  ];
  const { read } = world({ lines: [], limits });
  assert.ok((await read()).includes('line:sales tokens_per_day 50'));
  assert.ok(!(await read()).some((line) => line.startsWith('subject:')));
  assert.ok((await read({ subject: 'bob' })).includes('subject:bob requests_per_day 7'));
});

test('however many business lines there are', async () => {
  const lines = Array.from({ length: 1100 }, (_, index) => `l${String(index).padStart(4, '0')}`);
  const { read, pages } = world({ lines });
  assert.equal((await read()).filter((line) => line.startsWith('line:')).length, 1100);
  assert.deepEqual(pages, [null, 'acme/l0499', 'acme/l0999']);
});

test('days are those of the zone of the ledger', async () => {
  const { options } = world({ zone: 'Asia/Tokyo' });
  const lines = await limitLevels({ ...options, subject: null, model: null, businessLine: null, key: null });
  assert.ok(
    lines.length > 0 && lines.every(({ window }) => window.kind === 'calendar' && window.zone === 'Asia/Tokyo'),
  );
});
