import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readSeries } from './read-series.ts';

const values = (text: string, name: string) =>
  (readSeries(text, new Set([name])).get(name) ?? []).map(({ value }) => value);

test('names, labels, values; what is not wanted or not well formed is passed over', () => {
  const text = [
    '# HELP vllm:num_requests_waiting Number of requests waiting.',
    '# TYPE vllm:num_requests_waiting gauge',
    'vllm:num_requests_waiting{engine="0",model_name="a \\"b\\" \\\\ c\\n",} 3.0 1700000000000',
    'vllm:num_requests_waiting { engine = "1" , x="}{,=" } 4',
    'vllm:num_requests_waiting_more 9',
    'vllm:num_requests_waiting{engine="2" 5',
    'vllm:num_requests_waiting{engine="3"} 0x10',
    'vllm:num_requests_waiting{engine="4"}',
    '  plain 1e3 # {trace="x"} 1',
    'plain +Inf\r',
    'plain NaN',
  ].join('\n');
  const found = readSeries(text, new Set(['vllm:num_requests_waiting', 'plain']));
  assert.deepEqual(
    found.get('vllm:num_requests_waiting')?.map(({ labels, value }) => [Object.fromEntries(labels), value]),
    [
      [{ engine: '0', model_name: 'a "b" \\ c\n' }, 3],
      [{ engine: '1', x: '}{,=' }, 4],
    ],
  );
  assert.deepEqual(
    found.get('plain')?.map(({ value }) => value),
    [1000, Infinity, NaN],
  );
});

test('whatever is written is read back', () => {
  const name = fc.stringMatching(/^[a-z_][a-z0-9_]{0,8}$/);
  const label = fc.tuple(name, fc.string({ maxLength: 12 }));
  const escape = (text: string) => text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
  const line = fc.record({
    labels: fc.uniqueArray(label, { maxLength: 4, selector: ([key]) => key }),
    value: fc.float({ noDefaultInfinity: true, noNaN: true }),
  });
  fc.assert(
    fc.property(fc.array(line, { maxLength: 12 }), (lines) => {
      const text = lines
        .map(
          ({ labels, value }) => `m{${labels.map(([key, text]) => `${key}="${escape(text)}"`).join(',')}} ${value}\n`,
        )
        .join('');
      const found = readSeries(text, new Set(['m'])).get('m') ?? [];
      assert.deepEqual(
        found.map(({ labels, value }) => [[...labels], value]),
        // A minus is no part of zero here.
        lines.map(({ labels, value }) => [labels.map((pair) => [...pair]), value === 0 ? 0 : value]),
      );
    }),
  );
});

test('no text makes it throw', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom('m', '{', '}', '"', '=', ',', '\\', '\n', ' ', '1', '#', 'é'), { maxLength: 60 }),
      (parts) => {
        readSeries(parts.join(''), new Set(['m']));
      },
    ),
  );
});

test('series of one name are bounded', () => {
  assert.equal(values('m 1\n'.repeat(5000), 'm').length, 1024);
});

test('a megabyte takes few milliseconds, whatever is in it', () => {
  const usual = Array.from(
    { length: 8000 },
    (_, at) =>
      `vllm:e2e_request_latency_seconds_bucket{engine="0",le="${at}",model_name="some/model-name-of-usual-length"} ${at}.0`,
  ).join('\n');
  const nasty = [
    `m{${'a="\\\\\\"",'.repeat(100_000)}`,
    `m{${'='.repeat(1_000_000)}`,
    `m{a="${'\\'.repeat(1_000_000)}`,
    'm{'.repeat(500_000),
    `${' '.repeat(1_000_000)}m`,
    'm{a\n'.repeat(250_000),
  ];
  for (const [limit, text] of [[20, usual] as const, ...nasty.map((each) => [100, each] as const)]) {
    const times = [0, 1, 2].map(() => {
      const started = performance.now();
      readSeries(text, new Set(['m', 'vllm:num_requests_waiting']));
      return performance.now() - started;
    });
    assert.ok(Math.min(...times) < limit, `${Math.min(...times)} ms for ${text.slice(0, 20)}`);
  }
});
