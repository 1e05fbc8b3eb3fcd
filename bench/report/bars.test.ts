import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bars } from './bars.ts';

test('the longest bar fills the width, parts lie one behind the other, and names are safe', () => {
  const svg = bars({
    title: 'CPU <of> a request',
    unit: 'µs',
    bars: [
      {
        name: 'tokenlat',
        parts: [
          { name: 'ext_proc', value: 300 },
          { name: 'envoy', value: 100 },
        ],
      },
      { name: 'echo', parts: [{ name: 'ext_proc', value: 100 }] },
    ],
  });
  const rects = [...svg.matchAll(/<rect x="([\d.]+)" y="(\d+)" width="([\d.]+)" height="18"/g)].map((found) =>
    found.slice(1).map(Number),
  );
  const [first, second, third] = rects;
  assert.deepEqual(
    rects.map(([, , width]) => width),
    [427.5, 142.5, 142.5],
  );
  assert.equal((first?.[0] ?? 0) + (first?.[2] ?? 0), second?.[0], 'the second part begins where the first ends');
  assert.equal(third?.[0], first?.[0], 'bars begin at one line');
  assert.match(svg, /CPU &lt;of&gt; a request/);
  assert.match(svg, /400 µs/);
});
