import assert from 'node:assert/strict';
import { test } from 'node:test';
import { growth } from '../../../test/support/growth.ts';
import type { TextPart } from '../../core/chat-request.ts';
import type { Arrived, Received } from '../../core/context.ts';
import { GatewayError } from '../../core/error.ts';
import type { Filter } from '../../core/snapshot.ts';
import { Trail } from '../../core/trail.ts';
import { createEnhance } from './station.ts';
import { createTermFilter } from './term-filter.ts';

function context(config: { filter: Filter }, texts: readonly TextPart[]): Arrived & Received {
  return { config, trail: new Trail(), request: { texts } } as unknown as Arrived & Received;
}

const part = (param: string, text: string): TextPart => ({ param, role: 'user', text });
const on = (...terms: string[]): { filter: Filter } => ({ filter: { enabled: true, terms } });

test('a clean prompt passes, an unchecked one says so', async () => {
  const { run, name } = createEnhance();
  assert.equal(name, 'enhance');
  assert.deepEqual(
    await run?.(context(on('bomb'), [part('messages[0].content', 'hello'), part('tools[0].name', 'x')])),
    {
      note: { decision: 'clean', reason: '2 texts against 1 terms' },
      adds: { prompt: { verdict: 'clean' } },
    },
  );
  const off = { filter: { enabled: false, terms: ['bomb'] } };
  assert.deepEqual(await run?.(context(off, [part('messages[0].content', 'bomb')])), {
    note: { decision: 'unchecked', reason: 'filter off' },
    adds: { prompt: { verdict: 'unchecked' } },
  });
});

test('a hit in any part is refused, names the part and keeps the term to the trail', () => {
  const { run } = createEnhance();
  for (const param of [
    'messages[2].content',
    'messages[0].tool_calls[0].function.arguments',
    'tools[1].function.description',
  ]) {
    const ctx = context(on('unicorn', 'bomb'), [
      part('messages[0].content', 'hello'),
      part(param, 'a B\u200bOMB here'),
    ]);
    assert.throws(
      () => run?.(ctx),
      (error: unknown) => {
        assert.ok(error instanceof GatewayError);
        assert.equal(error.code, 'content_filter');
        assert.equal(error.status, 400);
        assert.equal(error.param, param);
        assert.ok(error.message.includes(param));
        // The walk writes the cause into the trail: the term by index, never by text.
        assert.ok(error.cause instanceof Error);
        assert.equal(error.cause.message, `term 1 in ${param} (plain)`);
        assert.ok(!/bomb/i.test(error.message));
        return true;
      },
    );
  }
});

test('one filter is made a configuration', () => {
  let made = 0;
  const { run } = createEnhance({
    filterOf: (terms) => {
      made++;
      return createTermFilter(terms);
    },
  });
  const first = on('bomb');
  const second = on('unicorn');
  void run?.(context(first, [part('a', 'unicorn')]));
  void run?.(context(first, [part('a', 'unicorn')]));
  void run?.(context(second, [part('a', 'bomb')]));
  assert.equal(made, 2);
});

test('word boundaries: short words whole, long ones inside others too, scripts without gaps anywhere', () => {
  const filter = createTermFilter(['ass', 'methamphetamine', 'c4', 'pipe bomb', '炸弹']);
  const found = (text: string): number | null => filter.find(text)?.term ?? null;
  for (const text of ['class', 'assets', 'as s', 'Scunthorpe', 'c41', 'pipe bombs', 'pipebomber'])
    assert.equal(found(text), null, text);
  assert.equal(found('an ass.'), 0);
  assert.equal(found('my_ass'), 0);
  assert.equal(found('methamphetamines'), 1);
  assert.equal(found('c4!'), 2);
  assert.equal(found('a pipe\n\tbomb'), 3);
  assert.equal(found('制造炸弹的方法'), 4);
});

test('terms that are empty, blank or equal do no harm', () => {
  assert.equal(createTermFilter([]).find('anything'), null);
  assert.equal(createTermFilter(['', ' ', '\u200b']).find('any thing  \u200b '), null);
  assert.equal(createTermFilter(['x y', 'X  Y']).find('x y')?.term, 0);
});

test('twice the text takes twice the time', (t) => {
  const terms = Array.from(
    { length: 10_000 },
    (_, i) => `term${i.toString(36)}${((i * 7919) % 10_007).toString(36)}zq`,
  );
  const from = performance.now();
  const filter = createTermFilter(terms);
  const built = performance.now() - from;
  const median = (text: string, runs: number, times: number): number => {
    const samples = Array.from({ length: runs }, () => {
      const start = performance.now();
      for (let i = 0; i < times; i++) assert.equal(filter.find(text), null);
      return ((performance.now() - start) / times) * 1000;
    }).toSorted((a, b) => a - b);
    return samples[runs >> 1] ?? Infinity;
  };
  const prose = 'Please write a short letter to the head of our school about the new timetable. ';
  const small = prose.repeat(3).slice(0, 200);
  const figures = {
    'small ASCII': median(small, 50, 200),
    '16 KiB ASCII': median(prose.repeat(210).slice(0, 16_384), 21, 2),
    '16 KiB mixed': median(
      'Пишу письмо 请写一首诗 a-b c d e 4ss3t caf\u00e9 %20 &amp; aGVsbG8gd29ybGQ= '.repeat(300).slice(0, 16_384),
      21,
      1,
    ),
    '16 KiB base64': median(Buffer.from(prose.repeat(200)).toString('base64').slice(0, 16_384), 21, 1),
  };
  const shown = Object.entries(figures)
    .map(([name, us]) => `${name} ${us.toFixed(1)} us`)
    .join(', ');
  t.diagnostic(`10,000 terms built in ${built.toFixed(0)} ms; ${shown}`);
  // The figures printed are for people; what must hold on any machine is that twice the text takes twice the time.
  for (const text of [prose, 'Пишу 请写 a-b c d e 4ss3t caf\u00e9 %20 &amp; aGVsbG8gd29ybGQ= ']) {
    const times = growth((size) => {
      const long = text.repeat(size).slice(0, size * 40);
      return () => void filter.find(long);
    }, 300);
    assert.ok(times < 3, `${text.slice(0, 10)}: ${times}`);
  }
});
