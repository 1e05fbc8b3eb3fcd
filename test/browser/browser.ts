/** A real browser for tests: one a file, closed at its end. */
import { mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach } from 'node:test';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { SetupError } from '../../scripts/cache.mjs';
import { ensureChromium } from '../../scripts/chromium.mjs';

const ARGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--no-zygote',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** What a page said and asked for while it was looked at. */
export interface Seen {
  /** Errors of scripts, warnings and errors on the console, violations of the policy. */
  readonly troubles: string[];
  readonly requests: string[];
}

export interface Opened {
  readonly page: Page;
  readonly seen: Seen;
  /** Keeps a picture of the whole page, for people: under a temporary folder, or in `TOKENLAT_SCREENSHOTS`. */
  readonly picture: (name: string) => Promise<void>;
}

const found = await findBrowser();

/** Why tests cannot have a browser here, as `skip` takes it; false = they can. On a build server that is a failure. */
export const noBrowser: string | false = 'reason' in found ? found.reason : false;

const folder = process.env['TOKENLAT_SCREENSHOTS'] ?? mkdtempSync(join(tmpdir(), 'tl-pictures-'));
let running: Promise<Browser> | null = null;
const contexts: BrowserContext[] = [];
/** Pages that stay open would go on asking. */
afterEach(async () => {
  for (const context of contexts.splice(0)) await context.close();
});
after(async () => {
  await (await running)?.close();
});

/** A page of its own: nothing is shared with others but the browser. */
export async function openPage(options: BrowserContextOptions = {}): Promise<Opened> {
  if ('reason' in found) throw new Error(found.reason);
  running ??= chromium.launch({ executablePath: found.path, args: ARGS });
  const browser = await running;
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  contexts.push(context);
  const page = await context.newPage();
  page.setDefaultTimeout(8000);
  const seen: Seen = { troubles: [], requests: [] };
  page.on('pageerror', (error) => void seen.troubles.push(`error: ${error.message}`));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) seen.troubles.push(`${message.type()}: ${message.text()}`);
  });
  page.on('request', (request) => void seen.requests.push(request.url()));
  const picture = async (name: string): Promise<void> => {
    mkdirSync(folder, { recursive: true });
    await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
  };
  return { page, seen, picture };
}

interface Violation {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** What axe-core finds wrong with a page, as lines; minor things too. */
export async function accessibilityFaults(page: Page): Promise<readonly string[]> {
  const require = createRequire(import.meta.url);
  await page.evaluate(readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8'));
  const { violations } = await page.evaluate<{ readonly violations: readonly Violation[] }>(
    'globalThis.axe.run(document)',
  );
  return violations.map(
    ({ id, impact, nodes }) =>
      `${impact} ${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary}`).join('\n')}`,
  );
}

async function findBrowser(): Promise<{ readonly path: string } | { readonly reason: string }> {
  try {
    return { path: await ensureChromium() };
  } catch (error) {
    if (!(error instanceof SetupError) || process.env['CI'] === 'true') throw error;
    return { reason: error.message };
  }
}
