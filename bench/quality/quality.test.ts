import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { rowsOfCsv } from './csv.ts';
import { manySheet } from './many-sheet.ts';
import { groupsOfCopies } from './near-duplicates.ts';
import { pairSheet } from './pair-sheet.ts';
import { routeCurve } from './route-curve.ts';
import { readSource, sources, urlOf, type Source } from './sources.ts';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'tokenlat-quality-'));
after(() => fs.rmSync(dir, { recursive: true, force: true }));

const items = (...pairs: readonly (readonly [weak: number, strong: number])[]) =>
  pairs.map(([weak, strong]) => ({ weak, strong }));

test('a curve of a perfect order, of none, and of the worst', () => {
  // One question in four needs the strong model, the others need none.
  const four = items([0, 1], [1, 1], [1, 1], [0, 0]);
  const best = routeCurve(four, [1, 0, 0, 0]);
  assert.deepEqual([best.apgr, best.cpt50, best.cpt80], [0.875, 0.125, 0.2]);
  const none = routeCurve(four, [0, 0, 0, 0]);
  assert.deepEqual([none.apgr, none.cpt50, none.cpt80], [0.5, 0.5, 0.8]);
  assert.equal(routeCurve(four, [0, 1, 1, 1]).apgr, 0.125);
});

test('a curve ends where the strong model serves all; the turned order mirrors it', () => {
  const unit = fc.record({ weak: fc.constantFrom(0, 1), strong: fc.constantFrom(0, 1), score: fc.nat(5) });
  fc.assert(
    fc.property(fc.array(unit, { minLength: 1, maxLength: 40 }), (rows) => {
      fc.pre(rows.reduce((sum, { weak, strong }) => sum + strong - weak, 0) !== 0);
      const scores = rows.map(({ score }) => score);
      const curve = routeCurve(rows, scores);
      assert.deepEqual(curve.points.at(-1), [1, 1]);
      const turned = routeCurve(
        rows,
        scores.map((score) => -score),
      );
      assert.ok(Math.abs(curve.apgr + turned.apgr - 1) < 1e-9);
    }),
  );
});

test('CSV with quotes, commas and line breaks in cells', () => {
  assert.deepEqual(rowsOfCsv('a,b\r\n"x, ""y""\nz",True\n,'), [
    ['a', 'b'],
    ['x, "y"\nz', 'True'],
    ['', ''],
  ]);
});

test('copies with few words changed are one group, strangers are none', () => {
  const long = 'the quick brown fox jumps over the lazy dog while the cat sleeps on the warm windowsill in the sun';
  const groups = groupsOfCopies([
    long,
    `${long} today`,
    'a short other text about nothing that matters to anyone here',
    'hi',
  ]);
  assert.equal(groups[0], groups[1]);
  assert.equal(new Set(groups).size, 3);
});

test('the sheet of a pair: classes find what the words tell, and know nothing of the subject', () => {
  const questions = Array.from({ length: 400 }, (_, at) => ({
    text: `${at % 2 === 0 ? 'prove the theorem about' : 'name the capital near'} place${at} ${'xyz'[at % 3] ?? ''}`,
    subject: 'all',
    weak: at % 2,
    strong: 1,
  }));
  const options = { id: 't', title: 'T', about: '', gate: 0.62, hasSubjects: true, seeds: [1], progress: () => {} };
  const sheet = pairSheet({ ...options, items: questions });
  const apgr = (name: string): number => sheet.rows.find(({ policy }) => policy === name)?.figures['apgr'] ?? NaN;
  // Half of the questions need the strong model: perfect is 0.75.
  assert.ok(apgr('TokenLat') > 0.7, String(apgr('TokenLat')));
  assert.ok(Math.abs(apgr('table by subject, which it is told') - 0.5) < 0.1);
  assert.ok(sheet.gates.every(({ isKept }) => isKept));
});

test('the sheet of many: half of the price is met, by the classes of the questions alone', () => {
  const part = (from: number, count: number) =>
    Array.from({ length: count }, (_, each) => {
      const at = from + each;
      const isHard = at % 3 === 0;
      const scores = new Map([
        ['cheap', isHard ? 0 : 1],
        ['dear', 1],
      ]);
      return {
        text: `${isHard ? 'derive the proof of' : 'tell me about'} thing${at}`,
        task: isHard ? 'hard' : 'easy',
        scores,
      };
    });
  const prices = new Map([
    ['cheap', 0.1],
    ['dear', 1],
  ]);
  const sheet = manySheet({ train: part(0, 300), test: part(300, 90), prices, dropped: 0 }, () => {});
  const ours = sheet.rows.find(({ policy }) => policy.endsWith('by tasks'));
  assert.ok((ours?.figures['cost'] ?? 1) <= 0.5 + 1e-9);
  assert.ok((ours?.figures['quality'] ?? 0) > 0.97);
});

test('data is taken from a folder, fetched where it is missing, and refused when it is another', async () => {
  const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
  const source: Source = {
    name: 'S',
    repository: 'o/r',
    commit: 'c',
    licence: 'MIT',
    files: { 'a/x': sha256('here'), y: sha256('there') },
  };
  fs.mkdirSync(path.join(dir, 'S/a'), { recursive: true });
  fs.writeFileSync(path.join(dir, 'S/a/x'), 'here');
  const asked: string[] = [];
  const get = (body: string) => (url: string) => {
    asked.push(url);
    return Promise.resolve(new Response(body));
  };
  await assert.rejects(readSource(source, { dir, get: get('wrong') }), /is not the file that was measured with/);
  assert.equal(fs.existsSync(path.join(dir, 'S/y')), false);
  const texts = await readSource(source, { dir, get: get('there') });
  assert.deepEqual(
    [...texts],
    [
      ['a/x', 'here'],
      ['y', 'there'],
    ],
  );
  assert.deepEqual(new Set(asked), new Set(['https://raw.githubusercontent.com/o/r/c/y']));
  await readSource(source, { dir, get: () => Promise.reject(new Error('not again')) });
  fs.writeFileSync(path.join(dir, 'S/y'), 'changed');
  await assert.rejects(readSource(source, { dir }), /SHA-256 differs/);
});

test('every source is pinned: a commit, a licence, a digest for each file', () => {
  for (const source of sources) {
    assert.match(source.commit, /^[0-9a-f]{40}$/);
    assert.ok(['Apache-2.0', 'MIT'].includes(source.licence));
    for (const [file, digest] of Object.entries(source.files)) {
      assert.match(digest, /^[0-9a-f]{64}$/);
      assert.ok(urlOf(source, file).startsWith('https://raw.githubusercontent.com/'));
    }
  }
});
