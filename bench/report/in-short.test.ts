import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { FIGURES } from './figures.ts';
import { inShort } from './in-short.ts';
import type { Results, Spread } from './results.ts';

const at = (median: number, min = median, max = median): Spread => ({ median, min, max });
const ALL = {
  'direct.added_p50_ms': at(2.9486),
  'direct.echo_added_p50_ms': at(1.5918),
  'envoy_ai_gateway.ext_proc_cpu_plain': at(2.38),
  'envoy_ai_gateway.ext_proc_cpu_plain_minimal': at(1.31),
  'envoy_ai_gateway.ext_proc_cpu_stream100': at(0.71),
  'envoy_ai_gateway.ext_proc_cpu_stream100_minimal': at(0.54),
  'litellm.throughput_per_core': at(4.72),
  'portkey.throughput_per_core': at(0.44),
};

test('three lines: the time added, the CPU beside the server of the same kind, the CPU beside proxies', () => {
  assert.deepEqual(inShort(ALL).split('\n'), [
    '- At 100 requests a second TokenLat, Envoy included, adds 2.95 ms to the median answer; Envoy with a bare ext_proc server ' +
      'that decides nothing adds 1.59 ms.',
    '- CPU of its ext_proc server with everything on, against that of Envoy AI Gateway: 2.38 times for plain chat (1.31 times when it ' +
      'does only the same work), 0.71 times for a stream of 100 chunks (0.54 times when it does only the same work).',
    '- Requests of plain chat that one second of CPU serves, that of Envoy and Redis included: 4.72 times those of LiteLLM, ' +
      '0.44 times those of Portkey.',
    '',
  ]);
});

test('what was not measured is not said', () => {
  assert.equal(inShort({}), '');
  assert.equal(
    inShort({ 'direct.added_p50_ms': at(1) }),
    '- At 100 requests a second TokenLat, Envoy included, adds 1.00 ms to the median answer.\n',
  );
});

test('rounds further apart than their median are told instead of it', () => {
  assert.match(inShort({ 'direct.added_p50_ms': at(2, 1, 4) }), /adds 1\.00 to 4\.00 ms/);
});

test('its figures are figures that there are, and the page begins with those of its JSON', () => {
  const names = new Set(FIGURES.map(({ name }) => name));
  for (const name of Object.keys(ALL)) assert.ok(names.has(name), name);
  const docs = new URL('../../docs/', import.meta.url);
  const { spread } = JSON.parse(readFileSync(new URL('performance.json', docs), 'utf8')) as Results;
  const short = inShort(spread);
  assert.notEqual(short, '');
  const page = readFileSync(new URL('performance.md', docs), 'utf8');
  assert.ok(page.startsWith(`# Performance\n\n${short}\n`), 'run npm run bench -- --report');
});
