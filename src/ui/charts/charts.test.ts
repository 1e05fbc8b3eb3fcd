import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { textOf } from '../markup/node.ts';
import type { UiElement, UiNode } from '../markup/node.ts';
import { toMarkup } from '../markup/to-markup.ts';
import { barList } from './bar-list.ts';
import { burnDown } from './burn-down.ts';
import { levelOf, meter } from './meter.ts';
import { legend, SERIES } from './pattern.ts';
import { labelStep, linear, px, scaleFor } from './scale.ts';
import { sparkline } from './sparkline.ts';
import { stackedBars } from './stacked-bars.ts';

const frame = { id: 'c', title: 'Title', desc: 'Words.' };
const format = (value: number): string => String(value);

function all(node: UiNode, tag: string): readonly UiElement[] {
  if (typeof node === 'string') return [];
  return [...(node.tag === tag ? [node] : []), ...node.children.flatMap((child) => all(child, tag))];
}
const withClass = (node: UiNode, name: string, tag: string): readonly UiElement[] =>
  all(node, tag).filter(({ attrs }) => attrs['class']?.split(' ').includes(name));
const text = (node: UiNode): string => all(node, 'text').map(textOf).join('|');

/** Every number in a drawing is one, and every rectangle has a size that can be drawn. */
function assertDrawable(drawing: UiElement): void {
  const markup = toMarkup(drawing);
  assert.doesNotMatch(markup, /NaN|Infinity|undefined|\[object/);
  for (const { attrs } of all(drawing, 'rect'))
    for (const name of ['width', 'height']) assert.ok(Number(attrs[name]) >= 0, `${name} ${attrs[name]}`);
  assert.match(markup, /role="img"/);
}

test('scales begin at 0, hold the largest value, and have round ticks', () => {
  assert.deepEqual(scaleFor(0), { max: 1, ticks: [0, 1] });
  assert.deepEqual(scaleFor(-5).ticks, [0, 1]);
  assert.deepEqual(scaleFor(Number.NaN).ticks, [0, 1]);
  assert.deepEqual(scaleFor(97).ticks, [0, 25, 50, 75, 100]);
  assert.deepEqual(scaleFor(0.31).ticks, [0, 0.1, 0.2, 0.3, 0.4]);
  fc.assert(
    fc.property(fc.double({ min: 1e-8, max: 9e15, noNaN: true }), (largest) => {
      const { max, ticks } = scaleFor(largest);
      assert.ok(max >= largest * (1 - 1e-9) && max <= largest * 2.6, `${max} for ${largest}`);
      assert.ok(ticks.length >= 2 && ticks.length <= 7);
      assert.ok(ticks.every((tick, at) => at === 0 || tick > (ticks[at - 1] ?? 0)));
    }),
  );
});

test('mapping stays inside of its range', () => {
  const x = linear([0, 10], [100, 200]);
  assert.deepEqual([x(0), x(5), x(10), x(-3), x(99), x(Number.NaN)], [100, 150, 200, 100, 200, 100]);
  assert.equal(linear([3, 3], [7, 9])(3), 7);
  assert.equal(labelStep(0, 100, 50), 1);
  assert.equal(labelStep(30, 600, 60), 3);
  assert.equal(px(1.23456), '1.23');
});

test('bars: one part a series, told apart by pattern, with the figure to be read', () => {
  const series = ['a', 'b', 'c'];
  const bars = [
    { label: '1 Nov', values: [1, 2, 3] },
    { label: '2 Nov', values: [0, 4, 0] },
  ];
  const drawing = stackedBars({ ...frame, series, bars, format, axis: format });
  assertDrawable(drawing);
  assert.equal(withClass(drawing, 'series', 'g').length, 4, 'zeros have no part');
  assert.equal(all(drawing, 'pattern').length, 2, 'all but the first have a pattern');
  assert.ok(all(drawing, 'title').map(textOf).includes('1 Nov, c: 3'));
  assert.match(text(drawing), /1 Nov\|2 Nov$/);
  assert.equal(all(legend('c', series), 'li').map(textOf).join(), 'a,b,c');
});

test('bars of nothing, of one value, of huge ones and of many days', () => {
  for (const bars of [[], [{ label: 'x', values: [0] }], [{ label: 'x', values: [Number.NaN] }]]) {
    const drawing = stackedBars({ ...frame, series: ['a'], bars, format, axis: format });
    assertDrawable(drawing);
    assert.match(text(drawing), /Nothing in this time/);
  }
  const one = stackedBars({ ...frame, series: ['a'], bars: [{ label: 'x', values: [5] }], format, axis: format });
  assertDrawable(one);
  assert.ok(Number(withClass(one, 's0', 'rect')[0]?.attrs['width']) <= 56, 'a lone bar is no wall');
  const many = Array.from({ length: 400 }, (_none, at) => ({ label: `day ${at}`, values: [Number.MAX_SAFE_INTEGER] }));
  const drawing = stackedBars({ ...frame, series: ['a'], bars: many, format, axis: format });
  assertDrawable(drawing);
  assert.ok(all(drawing, 'text').length < 30, 'labels do not lie on each other');
});

test('a list: bars in proportion, names shortened but whole in the tooltip', () => {
  const long = 'a-very-long-name-of-a-model-that-does-not-fit-anywhere-at-all-0123456789';
  const rows = [
    { label: long, value: 200, note: '80 %' },
    { label: 'b', value: 50 },
    { label: 'none', value: 0 },
  ];
  const drawing = barList({ ...frame, rows, format });
  assertDrawable(drawing);
  const [first = 0, second = 0, third] = withClass(drawing, 's0', 'rect').map(({ attrs }) => Number(attrs['width']));
  assert.ok(Math.abs(first / second - 4) < 0.01);
  assert.equal(third, 0);
  assert.ok(!text(drawing).includes(long) && text(drawing).includes('…'));
  assert.ok(all(drawing, 'title').some((title) => textOf(title).startsWith(long)));
  assert.match(text(barList({ ...frame, rows: [], format })), /Nothing/);
});

const DAY = 86_400_000;
const burning = {
  ...frame,
  from: 0,
  to: 30 * DAY,
  now: 15 * DAY,
  amount: 100,
  spent: 40,
  forecast: 80,
  exhaustedAt: null,
  points: [
    { at: 0, spent: 0 },
    { at: 5 * DAY, spent: 10 },
  ],
  alerts: [50, 100],
  axis: format,
  time: (at: number) => `day ${at / DAY}`,
};

test('a burn-down ends at what is left now, and goes on as the forecast says', () => {
  const drawing = burnDown(burning);
  assertDrawable(drawing);
  assert.match(text(drawing), /20 left at this pace/);
  assert.match(text(drawing), /alert at 50 %/);
  assert.doesNotMatch(text(drawing), /alert at 100 %/);
  assert.equal(withClass(drawing, 'ahead', 'path').length, 1);
  const line = withClass(drawing, 'line', 'path')[0]?.attrs['d'] ?? '';
  const dot = all(drawing, 'circle')[0]?.attrs;
  assert.ok(line.endsWith(`${dot?.['cx']} ${dot?.['cy']}`));
});

test('a burn-down that ends early, is used up, has just begun or is over', () => {
  const early = burnDown({ ...burning, spent: 80, forecast: 160, exhaustedAt: 20 * DAY });
  assert.match(text(early), /used up day 20 at this pace/);
  assert.equal(withClass(early, 'ahead-full', 'path').length, 1);
  const used = burnDown({ ...burning, spent: 130, forecast: 260, exhaustedAt: 11 * DAY });
  assert.match(text(used), /\|used up\|/);
  assert.equal(withClass(used, 'ahead', 'path').length, 0);
  const over = burnDown({ ...burning, now: 99 * DAY });
  assert.doesNotMatch(text(over), /pace/);
  for (const drawing of [early, used, over, burnDown({ ...burning, now: 0, spent: 0, forecast: 0, points: [] })])
    assertDrawable(drawing);
});

test('meters and lines say what they can', () => {
  assert.deepEqual(
    [0, 0.79, 0.8, 1, 7].map((share) => levelOf(share)),
    ['fine', 'fine', 'near', 'full', 'full'],
  );
  for (const share of [0, 0.5, 3, -1, Number.NaN])
    assertDrawable(meter({ label: 'l', share, marks: [0.5, 2], forecast: 9 }));
  assert.equal(all(sparkline([], 10), 'path').length, 0);
  assert.equal(all(sparkline([1], 10), 'path').length, 0);
  const path = all(sparkline([0, 0, 5], 10), 'path')[0]?.attrs['d'] ?? '';
  assert.doesNotMatch(path, /NaN/);
});

test('whatever the names and figures, a drawing is well-formed and holds no markup of theirs', () => {
  const value = fc.oneof(fc.nat(), fc.double({ min: 0, max: 9e15, noNaN: true }), fc.constant(0));
  const name = fc.oneof(fc.string({ unit: 'binary' }), fc.constant('<img onerror=x>'), fc.constant('"/><script>'));
  const row = fc.record({ label: name, value });
  fc.assert(
    fc.property(
      fc.array(row, { maxLength: 12 }),
      fc.array(name, { minLength: 1, maxLength: SERIES }),
      (rows, series) => {
        const bars = rows.map(({ label, value: most }) => ({ label, values: series.map(() => most) }));
        const drawings = [
          barList({ ...frame, title: series[0] ?? '', rows, format }),
          stackedBars({ ...frame, desc: series[0] ?? '', series, bars, format, axis: format }),
          burnDown({
            ...burning,
            amount: rows[0]?.value ?? 1,
            spent: rows[1]?.value ?? 1,
            forecast: rows[2]?.value ?? 2,
            title: series[0] ?? '',
          }),
        ];
        for (const drawing of drawings) {
          assertDrawable(drawing);
          const tags = [...toMarkup(drawing).matchAll(/<\/?([A-Za-z]+)/g)].map(([, tag]) => tag ?? '');
          assert.ok(
            tags.every((tag) => /^(?:svg|g|title|desc|defs|pattern|path|rect|line|circle|text|tspan)$/.test(tag)),
            tags.join(),
          );
        }
      },
    ),
    { numRuns: 60 },
  );
});

test('an id that is none is refused', () => {
  assert.throws(() => barList({ ...frame, id: 'a"b', rows: [], format }), RangeError);
});
