/** `node scripts/docs/main.ts`: writes the pages of `docs/` that are made from the code. */
import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from '../cache.mjs';
import { generatedPages } from './generated-pages.ts';

for (const [name, text] of generatedPages()) {
  fs.writeFileSync(path.join(ROOT, name), text);
  process.stdout.write(`${name}\n`);
}
