import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { invitation } from './invitation.ts';

const text = invitation({ url: 'http://127.0.0.1:10000/v1', ops: 'http://127.0.0.1:9902', token: 'ey.a.b' });

test('the variables come in a line of their own, and the requests use them', () => {
  const lines = text.split('\n');
  const exported = lines.indexOf('export URL=http://127.0.0.1:10000 KEY=ey.a.b');
  const asked = lines.findIndex((line) => line.startsWith('curl "$URL/v1/chat/completions"'));
  assert.ok(exported >= 0 && asked > exported, text);
  assert.match(lines[asked] ?? '', /Bearer \$KEY"/);
});

test('the first command of the README uses the same variables', () => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
  assert.match(readme, /^curl -i "\$URL\/v1\/chat\/completions" -H "authorization: Bearer \$KEY"/m);
});
