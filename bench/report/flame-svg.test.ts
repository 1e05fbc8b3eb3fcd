import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { busiestProfile } from './busiest-profile.ts';
import { flameSvg } from './flame-svg.ts';
import { readProfile } from './read-profile.ts';

const frame = (functionName: string, url = 'file:///somewhere/bench/src/flow/walk.ts') => ({
  functionName,
  url,
  lineNumber: 9,
});
const PROFILE = JSON.stringify({
  nodes: [
    { id: 1, callFrame: frame('(root)', ''), children: [2, 5] },
    { id: 2, callFrame: frame('walk'), children: [3, 4] },
    { id: 3, callFrame: frame('a<b>') },
    { id: 4, callFrame: frame('c', 'node:events') },
    { id: 5, callFrame: frame('(idle)', '') },
  ],
  samples: [5, 3, 3, 4, 5],
  timeDeltas: [1000, 100, 100, 50, 1000],
});

test('time goes to whoever is on the stack, and idle time to nobody', () => {
  const root = readProfile(PROFILE, 0);
  assert.equal(root.micros, 250);
  const [walk] = root.calls.values();
  assert.equal(walk?.name, 'walk src/flow/walk.ts:10');
  assert.deepEqual(
    [...(walk?.calls.values() ?? [])].map(({ micros, room }) => [room, micros]),
    [
      ['src/flow', 200],
      ['node', 50],
    ],
  );
});

test('the first part of a profile can be left out', () => {
  assert.equal(readProfile(PROFILE, 0.5).micros, 150);
});

test('a picture has a box a function, without the paths of the machine', () => {
  const svg = flameSvg(readProfile(PROFILE, 0));
  assert.equal(svg.match(/<rect y=/g)?.length, 4);
  assert.ok(svg.includes('a&lt;b&gt; src/flow/walk.ts:10, 80.0 %'));
  assert.ok(!svg.includes('somewhere') && !svg.includes('@'));
});

test('of the processes of a gateway the busiest is taken', () => {
  const dir = mkdtempSync(join(tmpdir(), 'tokenlat-profiles-'));
  const idle = PROFILE.replaceAll('100', '10');
  for (const [name, text] of Object.entries({ 'a.cpuprofile': idle, 'b.cpuprofile': PROFILE, 'c.log': 'no profile' })) {
    writeFileSync(join(dir, name), text);
  }
  assert.equal(busiestProfile(dir, 0).micros, 250);
  rmSync(dir, { recursive: true });
});
