import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { SseParser } from '../../src/lib/sse/sse-parser.ts';

interface WireCase {
  readonly name: string;
  readonly wire: string;
  readonly events: readonly { readonly type: string; readonly data: string; readonly lastEventId?: string }[];
  readonly reconnectionTime?: number;
}

const file = new URL('../fixtures/wpt-eventsource/cases.json', import.meta.url);
const { cases } = JSON.parse(readFileSync(file, 'utf8')) as { cases: readonly WireCase[] };

function run(chunks: readonly Buffer[]) {
  const events: { type: string; data: string; lastEventId: string }[] = [];
  const parser = new SseParser({
    maxEventBytes: 1 << 20,
    onEvent: (data, event, id) =>
      events.push({ type: event === '' ? 'message' : event, data: data.toString(), lastEventId: id }),
  });
  for (const chunk of chunks) parser.push(chunk);
  return events;
}

test('the wire cases of web-platform-tests are all here', () => {
  assert.equal(cases.length, 24);
});

for (const { name, wire, events } of cases) {
  test(`${name}: same events at every cut and byte by byte`, () => {
    const body = Buffer.from(wire);
    const whole = run([body]);
    assert.deepEqual(
      whole.map((event, index) =>
        events[index]?.lastEventId === undefined ? { ...event, lastEventId: undefined } : event,
      ),
      events.map((event) => ({ type: event.type, data: event.data, lastEventId: event.lastEventId })),
    );
    for (let cut = 1; cut < body.length; cut += 1) {
      assert.deepEqual(run([body.subarray(0, cut), body.subarray(cut)]), whole, `cut at ${cut}`);
    }
    assert.deepEqual(run(Array.from(body, (byte) => Buffer.from([byte]))), whole, 'byte by byte');
  });
}
