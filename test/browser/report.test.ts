import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { runCommand } from '../../src/cli/cli-kit.test.ts';
import { costCommand } from '../../src/cli/commands/cost.ts';
import { accessibilityFaults, noBrowser, openPage } from './browser.ts';
import { HOSTILE, NOW, openWorld, type World } from './world.ts';

let world: World;
let folder: string;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tl-report-'));
  world = await openWorld();
});

after(async () => {
  await world.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Makes a report with the real command. */
async function report(name: string, words: readonly string[] = [], as = 'viewer'): Promise<string> {
  const file = join(folder, name);
  const { error, out } = await runCommand(costCommand, ['report', '--html', file, ...words], {
    env: { TOKENLAT_ADMIN_URL: world.url, TOKENLAT_ADMIN_TOKEN: world.tokens[as] },
    time: () => NOW,
  });
  assert.equal(error, null);
  assert.equal(out, `wrote ${file}\n`);
  return file;
}

test('the report opens from a file, with its charts, and asks for nothing', { skip: noBrowser }, async () => {
  const file = await report('all.html', ['--since', '30d']);
  const { page, seen, picture } = await openPage();
  await page.goto(pathToFileURL(file).href);
  await picture('report');
  assert.deepEqual(seen.troubles, []);
  assert.deepEqual(seen.requests, [pathToFileURL(file).href]);

  const headings = await page.locator('h2').allInnerTexts();
  for (const head of ['By day and model', 'By model', 'By business line', 'By request type', 'Top 10 requests'])
    assert.ok(headings.includes(head), head);
  const facts = await page.locator('.about').innerText();
  for (const fact of [/All tenants/, /20 Oct 2026 – 18 Nov 2026/, /Europe\/Berlin/, /18 Nov 2026, 15:20/])
    assert.match(facts, fact);
  assert.equal(await page.locator('.chart-burn').count(), 4, 'one burn-down a budget');
  assert.equal(await page.locator('.chart-bars .bar').count(), 30, 'one bar a day');
  assert.equal(
    await page
      .getByRole('region', { name: /^Top 10 requests/ })
      .locator('tbody tr')
      .count(),
    10,
  );
  // What is drawn can be seen: it has a size and lies inside of its drawing.
  for (const chart of await page.locator('svg.chart').all()) {
    const box = await chart.boundingBox();
    assert.ok(box !== null && box.width > 200 && box.height > 50);
  }
});

test('totals on the page are those of the ledger, and tables hold what charts show', { skip: noBrowser }, async () => {
  const file = await report('totals.html', ['--since', '30d']);
  const events = await Promise.all(['acme', 'globex'].map((tenant) => world.stores.ledger.read(tenant, null, 10_000)));
  const from = Date.parse('2026-10-19T22:00:00Z');
  const booked = events.flat().filter(({ event }) => event.time >= from);
  const cost = booked.reduce((sum, { event }) => sum + event.cost, 0);
  const { page } = await openPage();
  await page.goto(pathToFileURL(file).href);
  const shown = `$${(cost / 1e6).toFixed(2)}`;
  assert.equal(await page.locator('.stat .figure').first().innerText(), shown);
  await page.locator('summary').first().click();
  const sums = await page.locator('.card.wide details tbody tr td:last-child').allInnerTexts();
  const all = sums.reduce((sum, text) => sum + Number(text.replaceAll(/[$,]/g, '')), 0);
  assert.ok(Math.abs(all - cost / 1e6) < 0.005 * sums.length, `${all} of ${cost / 1e6}`);
});

test('names cannot become markup', { skip: noBrowser }, async () => {
  const { page } = await openPage();
  await page.goto(pathToFileURL(await report('names.html', ['--since', '30d'])).href);
  assert.equal(await page.locator('img').count(), 0);
  assert.equal(await page.evaluate('globalThis.stolen'), undefined);
  const names = await page.locator('bdi').allInnerTexts();
  assert.ok((await page.locator('bdi').allTextContents()).includes(HOSTILE), names.join());
});

test('it is accessible in light and dark, on paper and on a phone', { skip: noBrowser }, async () => {
  const url = pathToFileURL(await report('look.html', ['--since', '30d'])).href;
  for (const colorScheme of ['light', 'dark'] as const) {
    const { page, picture } = await openPage({ colorScheme, viewport: { width: 390, height: 844 } });
    await page.goto(url);
    for (const summary of await page.locator('summary').all()) await summary.click();
    assert.deepEqual(await accessibilityFaults(page), []);
    const wide = await page.evaluate<number>('document.documentElement.scrollWidth');
    assert.ok(wide <= 390, `${colorScheme}: the page is ${wide} wide`);
    await picture(`report-phone-${colorScheme}`);
  }
});

test('a caller of one tenant gets a report of that tenant only', { skip: noBrowser }, async () => {
  const html = readFileSync(await report('acme.html', [], 'viewer@acme'), 'utf8');
  assert.match(html, /Cost report, acme/);
  assert.doesNotMatch(html, /globex/);
});

test('hours, an empty time, and a file that cannot be written', async () => {
  const hours = readFileSync(await report('hours.html', ['--unit', 'hour', '--since', '12h']), 'utf8');
  assert.match(hours, /By hour and model/);
  const none = readFileSync(await report('none.html', ['--tenant', 'nobody']), 'utf8');
  assert.match(none, /Nothing was spent in this time/);
  assert.match(none, /There is no budget/);
  const { error } = await runCommand(costCommand, ['report', '--html', join(folder, 'no', 'such', 'folder')], {
    env: { TOKENLAT_ADMIN_URL: world.url, TOKENLAT_ADMIN_TOKEN: world.tokens['viewer'] },
    time: () => NOW,
  });
  assert.match(String(error?.message), /cannot write .*ENOENT/);
  assert.ok(
    readdirSync(folder).every((name) => name.endsWith('.html')),
    'nothing half-written stays',
  );
  const mixed = await runCommand(costCommand, ['report', '--html', 'x', '--by', 'model']);
  assert.equal(mixed.error?.name, 'CommanderError');
});
