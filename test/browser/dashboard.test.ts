import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { accessibilityFaults, noBrowser, openPage } from './browser.ts';
import { HOSTILE, openWorld, type World } from './world.ts';

const VIEWS = ['Overview', 'Spending', 'Budgets', 'Limits', 'Live requests', 'Models', 'Keys'];

let world: World;
let live: World['live'];
before(async () => {
  world = await openWorld();
  live = world.live;
});
after(() => world.stop());
afterEach(() => {
  world.refuse = null;
  world.live = live;
});

const browser = { skip: noBrowser };

async function signIn(page: Page, as = 'viewer'): Promise<void> {
  await page.goto(`${world.url}/ui`);
  await page.getByLabel('Admin token').fill(world.tokens[as] ?? as);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

async function open(page: Page, view: string): Promise<void> {
  await page.getByRole('link', { name: view, exact: true }).click();
  await page.getByRole('heading', { level: 1, name: view }).waitFor();
}

const asked = (): readonly string[] => [...world.asked];

/** Waits until nothing is missing any more. */
const settled = (page: Page) => page.locator('.loading').first().waitFor({ state: 'detached' });

/** Waits until the page says it. */
const says = (page: Page, text: string | RegExp) => page.locator('#trouble').getByText(text).first().waitFor();

test(
  'every view shows what the API told, from this server only and without a word on the console',
  browser,
  async () => {
    const { page, seen, picture } = await openPage();
    await signIn(page);
    const shows: Readonly<Record<string, readonly (string | RegExp)[]>> = {
      Overview: [
        /\$\d+\.\d\d/,
        'acme / assistant',
        'runs out early',
        'llama-3.1-70b-instruct@gpu-cluster-eu',
        '1 failing',
      ],
      Spending: ['claude-sonnet', 'By business line', 'batch-translation', HOSTILE, 'embedding', /^req-/],
      Budgets: ['used up', 'globex', /used up \d+ Nov at this pace/],
      Limits: ['Choose a tenant above.'],
      'Live requests': ['gateway-1', '640 ms', '9 days', '659.5K'],
      Models: ['failing', 'no traffic', "request.headers['x-batch'] == 'yes'", /canary/],
      Keys: ['sk-tl-0a…9f', 'active for 6 days', 'revoked', HOSTILE],
    };
    for (const view of VIEWS) {
      await open(page, view);
      for (const text of shows[view] ?? [])
        await page.locator('main').getByText(text).first().waitFor({ state: 'attached' });
      await settled(page);
      await picture(`dashboard-${view.toLowerCase().replaceAll(' ', '-')}`);
      assert.equal(await page.title(), `${view} – TokenLat`);
    }
    await open(page, 'Limits');
    await page.getByLabel('Tenant').selectOption({ label: 'acme' });
    await page.getByText('Business line assistant').waitFor();
    await picture('dashboard-limits');
    assert.deepEqual(seen.troubles, []);
    assert.ok(
      seen.requests.length > 20 && seen.requests.every((url) => url.startsWith(`${world.url}/`)),
      seen.requests.join(),
    );
    assert.equal(await page.evaluate('globalThis.stolen'), undefined);
    assert.deepEqual(await page.context().cookies(), []);
    const kept = await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])');
    assert.equal(kept, '[{},{}]', 'nothing is kept unless somebody wants that');
  },
);

test('a token that opens nothing is told in words, and the field is there again', browser, async () => {
  const { page, picture } = await openPage();
  await signIn(page, 'a-token-that-nobody-was-given-0123456789');
  const alert = page.getByRole('alert');
  await alert.getByText('This token does not open the admin API.').waitFor();
  await alert.getByText(/Sign in with another one/).waitFor();
  assert.deepEqual(await accessibilityFaults(page), []);
  await picture('dashboard-wrong-token');
  const field = page.getByLabel('Admin token');
  assert.equal(await field.getAttribute('aria-invalid'), 'true');
  await page.locator('#token:focus').waitFor();
  await field.fill('with a blank');
  await page.keyboard.press('Enter');
  await alert.getByText('This cannot be a token.').waitFor();
  await field.fill(world.tokens['viewer'] ?? '');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
});

test('a token is remembered for the tab only when that was wished, and forgotten by signing out', browser, async () => {
  const { page } = await openPage();
  await signIn(page);
  await page.getByRole('navigation').waitFor();
  await page.reload();
  await page.getByLabel('Remember for this tab').check();
  await page.getByLabel('Admin token').fill(world.tokens['viewer'] ?? '');
  await page.keyboard.press('Enter');
  await page.getByRole('navigation').waitFor();
  await page.reload();
  await page.getByRole('navigation').waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('Admin token').waitFor();
  assert.equal(await page.evaluate('sessionStorage.length'), 0);
  await page.reload();
  await page.getByLabel('Admin token').waitFor();
});

test(
  'live figures follow every two seconds, the rest does not, and nothing is asked while nobody looks',
  browser,
  async () => {
    const { page } = await openPage();
    await signIn(page);
    await open(page, 'Live requests');
    await page.getByText('gateway-1').waitFor();
    world.tick(2000);
    world.live = { ...live, replicas: live.replicas.map((each) => ({ ...each, running: 500 })) };
    await page.locator('.stat .figure').getByText('1,000', { exact: true }).waitFor({ timeout: 4000 });
    await open(page, 'Keys');
    await page.getByText('revoked').first().waitFor();
    await page.waitForTimeout(300);
    world.asked.length = 0;
    await page.waitForTimeout(2500);
    assert.deepEqual(
      world.asked.filter((path) => !path.startsWith('/ui')),
      [],
    );
    await page.getByRole('button', { name: 'Refresh' }).click();
    await page.waitForTimeout(500);
    assert.ok(
      world.asked.some((path) => path.startsWith('/admin/keys')),
      'refreshing asks at once',
    );
    await open(page, 'Live requests');
    await page.evaluate(
      "Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => 'hidden' }); document.dispatchEvent(new Event('visibilitychange'))",
    );
    await page.waitForTimeout(300);
    world.asked.length = 0;
    await page.waitForTimeout(2500);
    assert.deepEqual(asked(), []);
    await page.evaluate("delete document.visibilityState; document.dispatchEvent(new Event('visibilitychange'))");
    await page.waitForTimeout(1000);
    assert.ok(asked().includes('/admin/live'), 'it goes on when somebody looks again');
  },
);

test('when the server is gone the last figures stay, marked as old, and come alive with it', browser, async () => {
  const { page, picture } = await openPage();
  await signIn(page);
  await open(page, 'Live requests');
  await page.getByText('gateway-1').waitFor();
  await world.stop();
  await says(page, 'The admin API does not answer.');
  await page.getByText(/^stale, from \d\d:\d\d:\d\d$/).waitFor();
  await page.getByText('gateway-1').waitFor();
  assert.match(await page.locator('#said').innerText(), /does not answer.*last answer/);
  assert.deepEqual(await accessibilityFaults(page), []);
  await picture('dashboard-stale');
  await world.start();
  await page.locator('#trouble').getByText('The admin API does not answer.').waitFor({ state: 'detached' });
  assert.equal(await page.locator('#said').innerText(), 'The figures are fresh again.');
});

test('refusals are told in words: too many requests, no store, a fault, an expired token', browser, async () => {
  const { page, picture } = await openPage();
  await signIn(page);
  await open(page, 'Live requests');
  await page.getByText('gateway-1').waitFor();
  const answers = (status: number, code: string, retryAfter?: number) => (path: string) =>
    path === '/admin/live' ? { status, code, ...(retryAfter === undefined ? {} : { retryAfter }) } : null;
  const cases = [
    [503, 'store_unavailable', 'The store behind the admin API is out of reach.'],
    [500, 'internal_error', 'The admin API answered with HTTP 500.'],
    [429, 'rate_limit_exceeded', /^Too many requests were made/],
  ] as const;
  for (const [status, code, words] of cases) {
    world.refuse = answers(status, code, 1);
    await page.getByRole('button', { name: 'Refresh' }).click();
    await says(page, words);
    await page.getByText('gateway-1').waitFor();
  }
  world.refuse = answers(401, 'invalid_credentials');
  await page.getByRole('button', { name: 'Refresh' }).click();
  await says(page, 'You are signed out. What you see is old.');
  await page.getByText('gateway-1').waitFor();
  assert.deepEqual(await accessibilityFaults(page), []);
  await picture('dashboard-signed-out');
  world.asked.length = 0;
  await page.waitForTimeout(2500);
  assert.deepEqual(asked(), [], 'nothing is asked with a token that opens nothing');
  world.refuse = null;
  await page.getByLabel('Admin token').fill(world.tokens['admin'] ?? '');
  await page.keyboard.press('Enter');
  await page.getByText('You are signed out.').waitFor({ state: 'detached' });
  await page.getByText('gateway-1').waitFor();
});

test('a token of one tenant sees that tenant, and is told what it may not see', browser, async () => {
  const { page, seen, picture } = await openPage();
  await signIn(page, 'viewer@acme');
  await page.locator('.caller').getByText('acme').waitFor();
  assert.equal(await page.locator('#tenant-choice').count(), 0);
  for (const view of ['Live requests', 'Models']) {
    await open(page, view);
    await page.getByText('Your token is for one tenant, and this is about the whole gateway.').waitFor();
  }
  await open(page, 'Limits');
  await page.getByText('Business line assistant').waitFor();
  for (const view of ['Overview', 'Spending', 'Budgets', 'Keys']) {
    await open(page, view);
    await settled(page);
    assert.doesNotMatch(await page.locator('main').innerText(), /globex|support/, view);
  }
  await open(page, 'Overview');
  await picture('dashboard-one-tenant');
  const refused = /status of 403/;
  assert.deepEqual(
    seen.troubles.filter((text) => !refused.test(text)),
    [],
  );
});

test('everything can be reached and used by keyboard', browser, async () => {
  const { page } = await openPage();
  await page.goto(`${world.url}/ui`);
  await page.locator('#token:focus').waitFor();
  await page.keyboard.type(world.tokens['viewer'] ?? '');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByRole('navigation').waitFor();
  await page.locator('#title:focus').waitFor();
  // What comes first on the page, from there in the order of the Tab key.
  await page.getByRole('link', { name: 'Skip to the figures' }).focus();
  const order: string[] = [];
  for (let step = 0; step < 10; step += 1) {
    await page.keyboard.press('Tab');
    order.push(await page.evaluate<string>('document.activeElement.textContent'));
  }
  assert.deepEqual(order.slice(0, -2), [...VIEWS, 'Sign out']);
  assert.equal(order.at(-1), 'Refresh');
  await page.getByRole('link', { name: 'Skip to the figures' }).focus();
  await page.keyboard.press('Enter');
  await page.locator('#content:focus').waitFor();
  assert.equal(await page.getByRole('heading', { level: 1 }).innerText(), 'Overview', 'skipping leaves the view');
  await page.getByRole('link', { name: 'Spending' }).focus();
  await page.keyboard.press('Enter');
  await page.locator('#title:focus').waitFor();
  const summary = page.locator('summary').first();
  await summary.focus();
  await page.keyboard.press('Enter');
  await page.locator('details[open] table').first().waitFor();
  await page.getByRole('button', { name: 'Refresh' }).click();
  await page.waitForTimeout(600);
  assert.equal(await page.locator('details[open]').count(), 1, 'what was opened stays open when figures come');
});

for (const colorScheme of ['light', 'dark'] as const)
  test(`accessible in every view, ${colorScheme}, wide and narrow`, browser, async () => {
    for (const width of [1280, 390]) {
      const viewport = { width, height: 844 };
      const { page, picture } = await openPage({ colorScheme, viewport, reducedMotion: 'reduce' });
      await page.goto(`${world.url}/ui`);
      await page.getByLabel('Admin token').waitFor();
      assert.deepEqual(await accessibilityFaults(page), [], 'sign in');
      await signIn(page);
      await page.getByRole('navigation').waitFor();
      for (const view of VIEWS) {
        await open(page, view);
        if (view === 'Limits') await page.getByLabel('Tenant').selectOption({ label: 'acme' });
        await settled(page);
        assert.deepEqual(await accessibilityFaults(page), [], `${view} ${width}`);
        const wide = await page.evaluate<number>('document.documentElement.scrollWidth');
        assert.ok(wide <= width, `${view}: ${wide} of ${width}`);
        if (width === 390 || colorScheme === 'dark')
          await picture(`dashboard-${colorScheme}-${width}-${view.toLowerCase()}`);
      }
    }
  });
