import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { accessibilityFaults, noBrowser, openPage } from './browser.ts';
import { openWorld, type World } from './world.ts';

let world: World;
before(async () => {
  world = await openWorld();
});
after(() => world.stop());

const browser = { skip: noBrowser };
/** Refusals are told on the console by the browser itself. */
const REFUSED = /status of 4\d\d/;

async function open(page: Page, operation = ''): Promise<void> {
  await page.goto(`${world.url}/admin/docs${operation === '' ? '' : `#${operation}`}`);
  await page.locator('.docs-shell').waitFor();
}

async function signIn(page: Page, as = 'admin', remember = false): Promise<void> {
  await page.getByLabel('Admin token').fill(world.tokens[as] ?? as);
  if (remember) await page.getByLabel('Remember for this tab').check();
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('.caller').getByRole('button', { name: 'Sign out' }).waitFor();
}

async function choose(page: Page, name: string): Promise<void> {
  await page.getByRole('navigation').getByRole('link', { name, exact: false }).first().click();
  await page.locator('#title:focus').waitFor();
}

const field = (page: Page, name: string) => page.locator(`[id="field-${name}"]`);
const answer = (page: Page) => page.locator('#answer-place');

test('an operation is found, read and tried; nothing goes elsewhere or is kept', browser, async () => {
  const { page, seen, picture } = await openPage();
  await open(page);
  await picture('api-start');
  await page.getByLabel('Search operations').fill('grace_seconds');
  await page
    .getByText('1 of 33 operations')
    .or(page.getByText(/^1 of \d+ operations$/))
    .waitFor();
  await page.getByLabel('Search operations').fill('');
  await signIn(page);
  await page.goto(`${world.url}/admin/docs#key.list`);
  await page.locator('[id="field-limit"]').fill('2');
  assert.match(await page.locator('#curl').innerText(), /\$TOKENLAT_ADMIN_TOKEN" \\\n {2}--header 'accept/);
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await answer(page).getByText('HTTP 200').waitFor();
  await page.locator('#answer:focus').waitFor({ state: 'attached' });
  await answer(page)
    .getByText(/^in \d+ ms$/)
    .waitFor();
  const body = page.locator('#answer-body');
  const first = (JSON.parse(await body.innerText()) as { data: readonly { id: string }[] }).data[0]?.id;
  await page.getByRole('button', { name: 'Next page' }).click();
  await page.waitForFunction(`!document.querySelector('#answer-body')?.textContent.includes('${first}')`);
  await picture('api-key-list');
  await page.goto(`${world.url}/admin/docs#spend.read`);
  await field(page, 'from').fill('2026-11-10');
  await field(page, 'to').fill('2026-11-12');
  await field(page, 'format').selectOption('csv');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await answer(page).getByText('text/csv').waitFor();
  assert.match(await body.innerText(), /^at,|^[a-z_]+,/);
  assert.deepEqual(seen.troubles, []);
  assert.ok(seen.requests.every((url) => url.startsWith(`${world.url}/`)));
  assert.ok(!(await page.content()).includes(world.tokens['admin'] ?? ''), 'the token is nowhere in the page');
  assert.equal(await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])'), '[{},{}]');
});

test(
  'a key is made when that is confirmed, its secret seen once, and an old version told in words',
  browser,
  async () => {
    const { page, seen, picture } = await openPage();
    await open(page, 'key.create');
    await signIn(page);
    await field(page, 'body').fill('{"name": "from the page", "tenant": "acme"');
    await page.getByRole('button', { name: 'Write…' }).click();
    await page.getByText(/^This is not JSON/).waitFor();
    await page.locator('[id="field-body"]:focus').waitFor();
    await field(page, 'body').fill('{"name": "from the page", "tenant": "acme", "wrong": 1}');
    await page.getByRole('button', { name: 'Write…' }).click();
    await page.locator('#confirm:focus').waitFor();
    await page.keyboard.press('Enter');
    await answer(page).getByText('The request is wrong.').waitFor();
    await answer(page).locator('.notice').getByText('wrong: There is no such field.').waitFor();
    await page.locator('#field-body-fault').getByText('wrong: There is no such field.').waitFor();
    world.asked.length = 0;
    const key = await field(page, 'Idempotency-Key').inputValue();
    await field(page, 'body').fill('{"name": "from the page", "tenant": "acme"}');
    await page.getByRole('button', { name: 'Write…' }).click();
    await page.getByText('Send this write?').waitFor();
    assert.deepEqual(world.asked, [], 'nothing is sent before it is confirmed');
    await picture('api-confirm');
    await page.getByRole('button', { name: 'Back' }).click();
    await page.getByRole('button', { name: 'Write…' }).click();
    await page.getByRole('button', { name: 'Yes, send it' }).click();
    await answer(page).getByText('HTTP 201').waitFor();
    const secret = await page.locator('#secret .secret').innerText();
    assert.match(secret, /^sk-/);
    assert.notEqual(await field(page, 'Idempotency-Key').inputValue(), key);
    await picture('api-secret');
    await field(page, 'Idempotency-Key').fill(key);
    await page.getByRole('button', { name: 'Write…' }).click();
    await page.getByRole('button', { name: 'Yes, send it' }).click();
    await answer(page).getByText('"secret": null').waitFor();
    assert.ok(!(await page.content()).includes(secret), 'a repetition does not tell it again');

    await choose(page, 'Change a key');
    assert.match(await field(page, 'id').inputValue(), /^key_/);
    assert.equal(await field(page, 'If-Match').inputValue(), '"1"');
    await field(page, 'body').fill('{"name": "renamed"}');
    for (const version of ['"2"', '"3"']) {
      await page.getByRole('button', { name: 'Write…' }).click();
      await page.getByRole('button', { name: 'Yes, send it' }).click();
      await answer(page).getByText('HTTP 200').waitFor();
      assert.equal(
        await field(page, 'If-Match').inputValue(),
        version,
        'the version that was made is the next to send',
      );
    }
    await field(page, 'If-Match').fill('"1"');
    await page.getByRole('button', { name: 'Write…' }).click();
    await page.getByRole('button', { name: 'Yes, send it' }).click();
    await answer(page).getByText('Nothing was changed: the version is old.').waitFor();
    await answer(page).getByText('Your ETag is an old one. Read it again before you change it.').waitFor();
    await picture('api-412');
    await page.getByRole('button', { name: 'Use it' }).click();
    assert.equal(await field(page, 'If-Match').inputValue(), '"3"');
    assert.deepEqual(
      seen.troubles.filter((text) => !REFUSED.test(text)),
      [],
    );
  },
);

test('a deletion is marked and asked for twice', browser, async () => {
  const { page } = await openPage();
  await open(page, 'key.get');
  await signIn(page);
  await field(page, 'id').fill('key_00000000000000000003');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await answer(page).getByText('HTTP 200').waitFor();
  await choose(page, 'DELETE');
  await page.getByText('This deletes from the running gateway.').waitFor();
  await page.getByRole('button', { name: 'Delete…' }).click();
  await page.getByRole('button', { name: 'Yes, delete it' }).click();
  await answer(page).getByText('HTTP 200').waitFor();
  assert.equal(await world.stores.directory.get('key', 'key_00000000000000000003'), null);
});

test('a token that may not is told so, one that is remembered stays, and signing out takes all', browser, async () => {
  const { page } = await openPage();
  await open(page, 'tenant.create');
  await signIn(page, 'viewer', true);
  await page.reload();
  await page.locator('.caller').getByRole('button', { name: 'Sign out' }).waitFor();
  await field(page, 'body').fill('{"name": "initech"}');
  await page.getByRole('button', { name: 'Write…' }).click();
  await page.getByRole('button', { name: 'Yes, send it' }).click();
  await answer(page).getByText('This token may not do this.').waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('Admin token').waitFor();
  assert.equal(await answer(page).innerText(), '');
  assert.equal(await page.evaluate('sessionStorage.length'), 0);
});

test('without script every operation is there to read', browser, async () => {
  const { page } = await openPage({ javaScriptEnabled: false });
  await page.goto(`${world.url}/admin/docs`);
  await page.getByRole('heading', { name: '/admin/keys/{id}/rotate' }).waitFor();
  assert.equal(await page.locator('form').count(), 0);
});

for (const colorScheme of ['light', 'dark'] as const)
  test(`accessible, ${colorScheme}, wide and narrow`, browser, async () => {
    for (const width of [1280, 390]) {
      const { page, picture } = await openPage({
        colorScheme,
        viewport: { width, height: 844 },
        reducedMotion: 'reduce',
      });
      const check = async (what: string): Promise<void> => {
        assert.deepEqual(await accessibilityFaults(page), [], `${what} ${width}`);
        const wide = await page.evaluate<number>('document.documentElement.scrollWidth');
        assert.ok(wide <= width, `${what}: ${wide} of ${width}`);
        await picture(`api-${colorScheme}-${width}-${what}`);
      };
      await open(page);
      await check('start');
      await signIn(page);
      await page.goto(`${world.url}/admin/docs#budget.create`);
      await page.getByRole('button', { name: 'Write…' }).click();
      await check('confirm');
      await page.getByRole('button', { name: 'Yes, send it' }).click();
      await answer(page).getByText('The request is wrong.').waitFor();
      await check('refused');
      await page.goto(`${world.url}/admin/docs#key.delete`);
      await field(page, 'id').fill('key_00000000000000000001');
      await field(page, 'If-Match').fill('"9"');
      await page.getByRole('button', { name: 'Delete…' }).click();
      await check('delete');
    }
  });
