import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { quietPorts } from '../support/quiet-ports.ts';
import { money } from '../../src/ui/text/format.ts';
import { noBrowser, openPage } from '../browser/browser.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { type MockUpstream, startMockUpstream } from '../support/mock-upstream.ts';
import { chatClient, question } from './chat-client.ts';
import { wholeAnswer } from './openai-answers.ts';

const TOKEN = 'an-admin-token-of-the-tests-0123456789abcdef';

let upstream: MockUpstream;
let gateway: TestGateway;
let url: string;

before(async () => {
  upstream = await startMockUpstream();
  upstream.respondWith(() => wholeAnswer());
  const [port = 0] = await quietPorts(1);
  url = `http://127.0.0.1:${port}`;
  gateway = await startGateway({
    config: {
      backends: [{ name: 'mock', endpoints: [{ url: `${upstream.url}/v1` }] }],
      models: [
        {
          name: 'chat',
          deployments: [{ backend: 'mock', price: { prompt_per_mtok: 400_000, completion_per_mtok: 800_000 } }],
        },
      ],
      admin: { port, tokens: [{ name: 'ops', role: 'viewer', token: TOKEN }] },
    },
  });
});

after(async () => {
  try {
    await gateway.stop();
  } finally {
    await upstream.close();
  }
});

test(
  'requests through the gateway show on the dashboard: spent, live, and a healthy deployment',
  { skip: noBrowser },
  async () => {
    const send = chatClient(gateway, await gateway.token());
    for (let at = 0; at < 3; at += 1) assert.equal((await send(question('chat'))).status, 200);
    const events = await gateway.ledger('acme', 3);
    const cost = events.reduce((sum, event) => sum + event.cost, 0);

    const { page, seen } = await openPage();
    await page.goto(`${url}/ui`);
    await page.getByLabel('Admin token').fill(TOKEN);
    await page.keyboard.press('Enter');
    await page.locator('.stat', { hasText: 'Spent today' }).getByText(money(cost, 'USD')).waitFor();
    await page.locator('.stat', { hasText: 'Deployments' }).getByText('none failing').waitFor();
    const row = page
      .getByRole('group', { name: /by route and deployment/ })
      .locator('tbody tr')
      .first();
    await row.getByText('chat@mock').waitFor();
    assert.equal(await row.locator('td').nth(2).innerText(), '3');
    await page.getByRole('link', { name: 'Models' }).click();
    await page.getByText('healthy').waitFor();
    assert.deepEqual(seen.troubles, []);
  },
);
