import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toMarkup } from '../markup/to-markup.ts';
import { page } from '../views/page.ts';
import type { Actions } from '../views/page.ts';
import { App } from './app.ts';
import { fakeFetch, fakeTime } from './client-kit.test.ts';
import { VIEWS } from './needs.ts';

const NOW = Date.parse('2026-11-30T10:00:00Z');
const actions: Actions = { signIn: () => {}, signOut: () => {}, choose: () => {}, refresh: () => {} };

function kit({ tenant = null, state = 'healthy' }: { tenant?: string | null; state?: string } = {}) {
  const clock = fakeTime();
  const said: string[] = [];
  let kept: string | null = null;
  let down: number | null = null;
  let deployment = state;
  const { fetch, asked } = fakeFetch((url) => {
    if (down === 0) return new TypeError('gone');
    if (down !== null) return { status: down, body: { error: { code: 'x', message: 'y' } } };
    const path = url.pathname.replace('/admin/', '');
    const now = new Date(NOW + clock.time() - 1_000_000).toISOString();
    if (path === 'status') return { body: { version: '1', now, zone: 'Europe/Berlin', role: 'viewer', tenant } };
    if (path === 'live') return { body: { at: now, replicas: [], data: [], queues: [], jobs: null } };
    if (path === 'quotas') return { body: { tenant: url.searchParams.get('tenant'), data: [] } };
    if (path === 'routes')
      return {
        body: {
          models: [
            {
              name: 'm',
              stage: 's',
              fallback: [],
              deployments: [{ id: 'm@b', backend: 'b', upstream_model: 'm', weight: 1, state: deployment, running: 0 }],
            },
          ],
          routes: [],
        },
      };
    return { body: { data: [], next_cursor: null } };
  });
  const app = new App({
    ...clock,
    fetch,
    base: 'http://127.0.0.1:9903/ui',
    session: { read: () => kept, write: (token) => void (kept = token) },
    choice: { view: 'overview', tenant: null, days: 30 },
    room: () => ({ whole: 1000, half: 480 }),
    onChange: () => {},
    say: (text) => void said.push(text),
  });
  const paths = (): readonly string[] => asked.map(({ url }) => url.replace('http://127.0.0.1:9903/admin/', ''));
  return {
    app,
    clock,
    said,
    asked,
    paths,
    kept: () => kept,
    fail: (status: number | null) => void (down = status),
    become: (next: string) => void (deployment = next),
    markup: () => toMarkup(page(app.model(), actions)),
  };
}

test('days are those of the ledger, by the clock of the server', async () => {
  const { app, clock, paths } = kit();
  assert.equal(await app.signIn('token', false), true);
  app.choose({ view: 'spend', days: 7 });
  await clock.pass(100);
  assert.ok(
    paths().some((path) => path.startsWith('spend?from=2026-11-24&to=2026-12-01&')),
    paths().join('\n'),
  );
  assert.ok(paths().some((path) => path.startsWith('top?day=2026-11-30')));
  // 14 hours later it is the next day in Berlin, though not everywhere.
  await clock.pass(13.5 * 3_600_000);
  assert.ok(paths().some((path) => path.startsWith('top?day=2026-12-01')));
});

test('every view can be drawn from nothing, from empty answers and from none', async () => {
  const { app, clock, markup, fail } = kit();
  assert.match(markup(), /Sign in/);
  await app.signIn('token', false);
  for (const tenant of [null, 'acme'])
    for (const view of VIEWS) {
      app.choose({ view, tenant });
      assert.doesNotMatch(markup(), /undefined|NaN|\[object/, view);
      await clock.pass(100);
      assert.doesNotMatch(markup(), /Loading|undefined|NaN|\[object/, view);
    }
  fail(503);
  app.choose({ tenant: 'globex' });
  for (const view of VIEWS) {
    app.choose({ view });
    await clock.pass(100);
    assert.doesNotMatch(markup(), /undefined|NaN|\[object/, view);
  }
});

test('a token is kept for the tab only when that is wished, and another caller sees nothing of the last', async () => {
  const { app, clock, kept } = kit();
  await app.signIn('first', false);
  assert.equal(kept(), null);
  await app.signIn('second', true);
  assert.equal(kept(), 'second');
  await clock.pass(100);
  assert.ok(app.model().view?.facts.budgets.value !== null);
  void app.signIn('third', false);
  await clock.pass(0);
  app.signOut();
  assert.deepEqual([app.model().view, kept()], [null, null]);
});

test('what changes is told once: gone, back, failing, well', async () => {
  const { app, clock, said, fail, become } = kit();
  await app.signIn('token', false);
  await clock.pass(5000);
  assert.deepEqual(said, []);
  fail(0);
  await clock.pass(20_000);
  assert.equal(said.length, 1);
  assert.match(said[0] ?? '', /does not answer.*last answer/);
  fail(null);
  await clock.pass(90_000);
  assert.equal(said[1], 'The figures are fresh again.');
  become('failing');
  await clock.pass(4000);
  become('healthy');
  await clock.pass(4000);
  assert.deepEqual(said.slice(2), ['Failing: m@b.', 'No deployment is failing any more.']);
});

test('a token that ends leaves the figures, and asks nothing', async () => {
  const { app, clock, fail, asked, markup, kept } = kit();
  await app.signIn('token', true);
  await clock.pass(3000);
  fail(401);
  await clock.pass(5000);
  const { signedOut, view } = app.model();
  assert.ok(signedOut && view !== null && kept() === null);
  assert.match(markup(), /You are signed out. What you see is old/);
  const before = asked.length;
  await clock.pass(120_000);
  assert.equal(asked.length, before);
});

test('a caller of one tenant asks for no list of tenants', async () => {
  const { app, clock, paths, markup } = kit({ tenant: 'acme' });
  await app.signIn('token', false);
  app.choose({ view: 'limits' });
  await clock.pass(100);
  assert.ok(!paths().some((path) => path.startsWith('tenants')));
  assert.ok(paths().includes('quotas?tenant=acme'));
  assert.doesNotMatch(markup(), /tenant-choice/);
});
