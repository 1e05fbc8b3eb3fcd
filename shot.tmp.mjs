import { chromium } from 'playwright-core';
const [, , url, out, w = '1280', scheme = 'light', full = '1'] = process.argv;
const b = await chromium.launch({
  executablePath: '/tmp/sp/out/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--no-zygote'],
  env: { ...process.env, LD_LIBRARY_PATH: '/tmp/sp/out/lib', FONTCONFIG_PATH: '/tmp/sp/out' },
});
const p = await b.newPage({ viewport: { width: +w, height: 900 }, colorScheme: scheme });
p.on('console', (m) => console.log('console', m.text()));
p.on('pageerror', (e) => console.log('err', e.message));
await p.goto(url);
await p.screenshot({ path: out, fullPage: full === '1' });
await b.close();
