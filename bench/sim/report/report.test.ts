import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { markdown, type Findings } from './markdown.ts';
import { atLeast, atMost, figureOf, type Sheet } from './sheet.ts';
import { svg } from './svg.ts';
import { terminal } from './terminal.ts';

const DOCS = path.join(import.meta.dirname, '../../../docs');

const rows = [
  { policy: 'other', figures: { a: 1.234, b: 5 } },
  { policy: 'ours', figures: { a: 0.5, b: NaN } },
];

const SHEET: Sheet = {
  id: 'sheet',
  title: 'A sheet',
  about: 'About it.',
  columns: [
    { key: 'a', title: 'A s', digits: 2 },
    { key: 'b', title: 'B', digits: 0 },
  ],
  rows,
  gates: [atMost('A', figureOf(rows, 'ours', 'a'), 0.6), atLeast('A', figureOf(rows, 'ours', 'a'), 0.7)],
  plots: [
    {
      file: 'routing-sheet.svg',
      title: 'a < b & c',
      x: { title: 'x', most: 10 },
      y: { title: 'y', most: 1 },
      lines: [
        {
          name: 'ours',
          points: [
            [0, 0],
            [5, NaN],
            [10, 2],
          ],
        },
        { name: 'other', points: [[0, 1]] },
      ],
      marked: [[2, 4]],
    },
  ],
};

test('gates: kept at the limit, broken beyond it and by what is not known', () => {
  assert.deepEqual(
    [atMost('x', 1, 1), atMost('x', 1.1, 1), atLeast('x', 1, 1), atLeast('x', 0.9, 1)].map(({ isKept }) => isKept),
    [true, false, true, false],
  );
  assert.equal(atMost('x', figureOf(rows, 'nobody', 'a'), 1).isKept, false);
  assert.equal(atLeast('x', figureOf(rows, 'ours', 'b'), 1).isKept, false);
});

test('the terminal shows every figure and every gate', () => {
  assert.equal(
    terminal(SHEET),
    [
      '',
      'A sheet',
      '        A s  B',
      'other  1.23  5',
      'ours   0.50  –',
      '  kept   A ≤ 0.60: 0.50',
      '  BROKEN A ≥ 0.70: 0.50',
      '',
    ].join('\n'),
  );
});

test('the page shows tables, gates and pictures', () => {
  const page = markdown({ ours: 'ours', seeds: [1, 2], sheets: [SHEET] });
  for (const line of [
    '| A sheet | A ≤ | 0.60 | 0.50 | kept |',
    '| A sheet | A ≥ | 0.70 | 0.50 | **BROKEN** |',
    '| other | 1.23 | 5 |',
    '| **ours** | **0.50** | **–** |',
    '![a < b & c](images/routing-sheet.svg)',
  ])
    assert.ok(page.split('\n').includes(line), line);
});

test('a picture stays within its frame, escapes its words, and draws ours last', () => {
  const [plot] = SHEET.plots;
  const text = svg(plot!, 'ours');
  assert.ok(text.includes('a &lt; b &amp; c') && !text.includes('NaN'));
  const lines = [...text.matchAll(/<polyline points="([^"]*)"[^>]*stroke-width="([\d.]+)"/g)];
  assert.deepEqual(
    lines.map(([, points, width]) => [points, width]),
    [
      ['52.0,34.0', '1.3'],
      ['52.0,316.0 580.0,34.0', '2.5'],
    ],
  );
});

test('docs/routing-simulation.md is what its JSON says, and its pictures are there', () => {
  const findings = JSON.parse(fs.readFileSync(path.join(DOCS, 'routing-simulation.json'), 'utf8')) as Findings;
  assert.equal(fs.readFileSync(path.join(DOCS, 'routing-simulation.md'), 'utf8'), markdown(findings));
  const plots = findings.sheets.flatMap((sheet) => sheet.plots);
  assert.ok(plots.length > 5);
  for (const { file } of plots) assert.ok(fs.existsSync(path.join(DOCS, 'images', file)), file);
});
