import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Model } from '../../core/snapshot.ts';
import { type Ask, config, context, model } from './route-kit.test.ts';
import { warmthOf } from './warmth.ts';

type Said = readonly [role: string, text: string];

function keysOf(affinity: Model['affinity'], said: readonly Said[], ask: Ask = {}): readonly number[] {
  const snapshot = config([model('m', 'a', { affinity })], [], { aliases: new Map([['other', 'm']]) });
  const texts = said.map(([role, text], at) => ({ param: `messages[${at}].content`, role, text }));
  return warmthOf(context(snapshot, { model: 'm', texts, ...ask })).warm('m').keys;
}

const long = (letter: string, count = 2048): string => letter.repeat(count);
const session = (id: string, ask: Ask = {}): Ask => ({ headers: [['x-session-id', id]], ...ask });

test('prefix: a key for each whole block of the prompt, the same as long as the prompt is', () => {
  assert.deepEqual(keysOf('prefix', [['user', 'hi']]), []);
  const first: Said[] = [
    ['system', long('s')],
    ['user', long('u', 3000)],
  ];
  const keys = keysOf('prefix', first);
  assert.equal(keys.length, 2);
  for (const key of keys) assert.ok(Number.isSafeInteger(key) && key >= 0 && key < 2 ** 48);
  const next = keysOf('prefix', [...first, ['assistant', long('a', 3000)], ['user', 'more']]);
  assert.deepEqual([next.slice(0, 2), next.length], [keys, 3]);
  const changed = keysOf('prefix', [
    ['system', long('s')],
    ['user', `x${long('u', 3000)}`],
  ]);
  assert.deepEqual([changed[0] === keys[0], changed[1] === keys[1]], [true, false]);
  assert.equal(keysOf('prefix', [['user', long('x', 2_000_000)]]).length, 128);
  // Whose words they are is part of the prompt.
  assert.notDeepEqual(keysOf('prefix', [['user', long('s', 3000)]]), keysOf('prefix', [['system', long('s', 3000)]]));
});

test('prefix: definitions stand before the conversation, so a new turn comes after all that was', () => {
  const of = (said: readonly Said[]) => {
    const texts = said.map(([role, text], at) => ({ param: `messages[${at}].content`, role, text }));
    const tool = { param: 'tools[0].function.description', role: 'tool', text: long('t', 3000) };
    return keysOf('prefix', [], { texts: [...texts, tool] });
  };
  const first = of([['user', long('u', 3000)]]);
  const next = of([
    ['user', long('u', 3000)],
    ['assistant', long('a', 3000)],
  ]);
  assert.deepEqual([first.length, next.slice(0, 2)], [2, first]);
});

test('session: by its name, else by how the conversation begins', () => {
  const said: Said[] = [
    ['system', 's'],
    ['user', 'hi'],
  ];
  const [opening] = keysOf('session', said);
  assert.deepEqual(keysOf('session', [...said, ['assistant', 'yes?'], ['user', 'more']]), [opening]);
  assert.notDeepEqual(
    keysOf('session', [
      ['system', 's'],
      ['user', 'ho'],
    ]),
    [opening],
  );
  const [named] = keysOf('session', said, session('one'));
  assert.deepEqual(keysOf('session', [['user', 'else']], session('one')), [named]);
  assert.notDeepEqual(keysOf('session', said, session('two')), [named]);
  assert.deepEqual(keysOf('session', []), []);
  // Nobody can name a session so that it is an opening.
  assert.notDeepEqual(keysOf('session', [], session('system\ns\nuser\nhi\n')), [opening]);
});

test('none, unknown models and embeddings have no keys; an alias has those of its model', () => {
  const said: Said[] = [['user', long('u', 3000)]];
  assert.deepEqual(keysOf('none', said), []);
  assert.deepEqual(keysOf('prefix', said, { endpoint: 'embeddings' }), []);
  assert.deepEqual(keysOf('prefix', said, { model: 'other' }), keysOf('prefix', said));
});

test('made once a request, with a home for what belongs together', () => {
  const ctx = context(config([model('m', 'a', { affinity: 'session' })], []), { model: 'm' });
  assert.equal(warmthOf(ctx).warm('m').keys, warmthOf(ctx).warm('m').keys);
  assert.equal(warmthOf(ctx).home('m'), warmthOf(ctx).warm('m').keys[0]);
  assert.deepEqual([warmthOf(ctx).warm('other').keys, warmthOf(ctx).home('other')], [[], null]);
  // A prompt without a whole block has no keys, and a home all the same.
  const short = context(config([model('m', 'a', { affinity: 'prefix' })], []), { model: 'm' });
  assert.deepEqual([warmthOf(short).warm('m').keys, warmthOf(short).home('m') === null], [[], false]);
});

test('no key of one tenant is a key of another, nor of another model', () => {
  const text = fc.string({ maxLength: 20 });
  const asked = fc.record({ tenant: text, model: text, id: text });
  fc.assert(
    fc.property(asked, asked, fc.constantFrom('prefix', 'session'), (one, other, affinity) => {
      const said: Said[] = [['user', long('u', 5000)]];
      const keys = ({ tenant, model: name, id }: typeof one) =>
        keysOf(affinity, said, session(id, { tenant, model: name }));
      const shared = keys(one).some((key) => keys(other).includes(key));
      if (one.tenant !== other.tenant || one.model !== other.model) assert.ok(!shared);
      else if (affinity === 'prefix') assert.ok(shared);
    }),
  );
});

test('model: one key, the same for all tenants and whatever is asked, of embeddings too', () => {
  const of = (ask: Ask) => {
    const snapshot = config([model('m', 'a', { affinity: 'model' }), model('n', 'a', { affinity: 'model' })], []);
    return warmthOf(context(snapshot, { model: 'm', ...ask }));
  };
  const first = of({});
  assert.deepEqual([first.warm('m').keys.length, first.warm('m').mustLoad], [1, true]);
  assert.deepEqual(of({ tenant: 'globex', ...session('s') }).warm('m'), first.warm('m'));
  assert.deepEqual(of({ endpoint: 'embeddings' }).warm('m'), first.warm('m'));
  assert.notDeepEqual(first.warm('n').keys, first.warm('m').keys);
  assert.equal(first.home('m'), first.warm('m').keys[0]);
});
