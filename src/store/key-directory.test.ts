import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { DirectoryStore, RecordOf } from '../core/ports/directory-store.ts';
import { StoreUnavailable } from '../core/ports/quota-store.ts';
import { createKeyDirectory } from './key-directory.ts';
import type { KeyDirectoryOptions } from './key-directory.ts';

type Key = RecordOf<'key'>;
type Listener = Parameters<DirectoryStore['watch']>[0];

/** A directory in the test's hand: answers come when `answer` is called, or at once with `auto`. */
function rig(options: Partial<KeyDirectoryOptions> = {}) {
  const keys = new Map<string, Key>();
  const listeners = new Set<Listener>();
  const lines: string[] = [];
  const state = { now: 1000, questions: 0, down: false, auto: true };
  const waiting: (() => void)[] = [];
  const directory = createKeyDirectory({
    store: {
      keyBySecret: async (sha256) => {
        state.questions += 1;
        const found = keys.get(sha256) ?? null;
        if (!state.auto) await new Promise<void>((resolve) => waiting.push(resolve));
        if (state.down) throw new StoreUnavailable('down');
        return found;
      },
      watch: (listener) => {
        listeners.add(listener);
        return { close: () => void listeners.delete(listener) };
      },
    },
    clock: { now: () => state.now },
    log: { warn: (text) => void lines.push(`warn ${text}`), info: (text) => void lines.push(`info ${text}`) },
    ...options,
  });
  const put = (sha256: string, id: string, revokedAt: number | null = null): void => {
    keys.set(sha256, { kind: 'key', id, revokedAt } as Key);
  };
  const tell = (change: Parameters<Listener>[0]): void => {
    for (const listener of listeners) listener(change);
  };
  return { directory, keys, state, put, tell, lines, listeners, answer: () => waiting.splice(0).forEach((go) => go()) };
}

const turn = (): Promise<void> => new Promise(setImmediate);

test('keys and misses are served at once for half a second, and asked for again behind the back in the next half', async () => {
  const { directory, state, put } = rig();
  put('a', 'key_a');
  assert.equal((await directory.find('a'))?.id, 'key_a');
  assert.equal(await directory.find('b'), null);
  assert.equal(state.questions, 2);
  state.now += 499;
  assert.equal((directory.find('a') as Key).id, 'key_a');
  assert.equal(directory.find('b'), null);
  assert.equal(state.questions, 2);
  put('a', 'key_a', 5);
  state.now += 1;
  // The old one still, and one question however many ask.
  assert.equal((directory.find('a') as Key).revokedAt, null);
  void directory.find('a');
  assert.equal(state.questions, 3);
  await turn();
  assert.equal((directory.find('a') as Key).revokedAt, 5);
  state.now += 999;
  assert.equal((directory.find('a') as Key).revokedAt, 5);
  await turn();
  state.now += 1000;
  assert.ok(directory.find('a') instanceof Promise);
});

test('an answer is as old as its question', async () => {
  const { directory, state, put, answer } = rig();
  state.auto = false;
  put('a', 'key_a');
  const first = Promise.resolve(directory.find('a'));
  state.now += 900;
  answer();
  await first;
  state.now += 99;
  assert.ok(!(directory.find('a') instanceof Promise));
  state.now += 1;
  const second = directory.find('a');
  assert.ok(second instanceof Promise);
  answer();
  await second;
});

test('a change drops its key and all misses at once, also when an older answer is on its way', async () => {
  const { directory, state, put, tell, answer } = rig();
  put('a', 'key_a');
  put('old', 'key_a');
  put('b', 'key_b');
  for (const sha of ['a', 'old', 'b', 'none']) await directory.find(sha);
  put('a', 'key_a', 1);
  put('none', 'key_new');
  tell({ kind: 'tenant', id: 'key_b' });
  tell({ kind: 'key', id: 'key_a' });
  assert.ok(!(directory.find('b') instanceof Promise));
  assert.equal((await directory.find('a'))?.revokedAt, 1);
  assert.equal((await directory.find('none'))?.id, 'key_new');
  assert.ok(directory.find('old') instanceof Promise);
  await turn();
  // Asked before the change, answered after it: not kept.
  state.auto = false;
  state.now += 1000;
  const asked = directory.find('a');
  put('a', 'key_a', 2);
  tell({ kind: 'key', id: 'key_a' });
  const after = directory.find('a');
  answer();
  assert.equal((await asked)?.revokedAt, 1);
  // Nor given to who asked after it.
  assert.equal((await after)?.revokedAt, 2);
  tell({ kind: 'key', id: 'key_a' });
  const again = directory.find('a');
  assert.ok(again instanceof Promise);
  answer();
  assert.equal((await again)?.revokedAt, 2);
  tell('all');
  assert.ok(directory.find('a') instanceof Promise);
  answer();
});

test('without the store what is known is served until it is too old, and what is not is neither right nor wrong', async () => {
  const { directory, state, put, tell, lines } = rig({ staleMs: 5000 });
  put('a', 'key_a');
  put('c', 'key_c');
  for (const sha of ['a', 'c', 'none']) await directory.find(sha);
  state.down = true;
  state.now += 999;
  assert.equal((directory.find('a') as Key).id, 'key_a');
  await turn();
  state.now += 1;
  for (let i = 0; i < 3; i += 1) assert.equal((await directory.find('a'))?.id, 'key_a');
  for (const sha of ['none', 'never']) await assert.rejects(async () => directory.find(sha), StoreUnavailable);
  // After a gap: asked for, and served all the same. What is known to have changed is not.
  tell('all');
  assert.equal((await directory.find('a'))?.id, 'key_a');
  tell({ kind: 'key', id: 'key_c' });
  await assert.rejects(async () => directory.find('c'), StoreUnavailable);
  state.now += 3999;
  assert.equal((await directory.find('a'))?.id, 'key_a');
  state.now += 1;
  await assert.rejects(async () => directory.find('a'), StoreUnavailable);
  state.down = false;
  assert.equal((await directory.find('a'))?.id, 'key_a');
  assert.deepEqual(lines, [
    'warn keys are served from memory: the store does not answer',
    'info keys are read from the store again',
  ]);
});

test('other faults are not hidden, and are not remembered', async () => {
  let fail = true;
  const { directory } = rig({
    store: {
      keyBySecret: async () => {
        if (fail) throw new TypeError('odd reply');
        return null;
      },
      watch: () => ({ close: () => {} }),
    },
  });
  await assert.rejects(async () => directory.find('a'), TypeError);
  fail = false;
  assert.equal(await directory.find('a'), null);
});

test('guesses drive no key out, and both bounds hold', async () => {
  const { directory, put, state, listeners } = rig({ maxEntries: 10 });
  for (let i = 0; i < 10; i += 1) {
    put(`k${i}`, `key_${i}`);
    await directory.find(`k${i}`);
  }
  for (let i = 0; i < 500; i += 1) await directory.find(`guess${i}`);
  assert.deepEqual(directory.size(), { keys: 10, misses: 10 });
  const before = state.questions;
  for (let i = 0; i < 10; i += 1) void directory.find(`k${i}`);
  assert.equal(state.questions, before);
  put('k10', 'key_10');
  await directory.find('k10');
  assert.deepEqual(directory.size(), { keys: 10, misses: 10 });
  assert.ok(directory.find('k0') instanceof Promise);
  directory.close();
  assert.equal(listeners.size, 0);
  assert.deepEqual(directory.size(), { keys: 0, misses: 0 });
});

test('no answer is older than a second while the store answers, whatever happens and whatever is told', async () => {
  const step = fc.record({
    kind: fc.constantFrom('find', 'find', 'find', 'write', 'write and tell', 'wait'),
    sha: fc.constantFrom('a', 'b', 'c'),
    ms: fc.integer({ min: 0, max: 700 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const { directory, state, put, tell } = rig({ maxEntries: 2 });
      /** By secret: versions with when they began. */
      const history = new Map<string, { readonly at: number; readonly version: number }[]>();
      let version = 0;
      for (const { kind, sha, ms } of steps) {
        if (kind === 'wait') state.now += ms;
        else if (kind === 'find') {
          const found = await directory.find(sha);
          const versions = history.get(sha) ?? [];
          const oldest = versions.findLast(({ at }) => at <= state.now - 1000)?.version ?? 0;
          assert.ok((found?.revokedAt ?? 0) >= oldest);
        } else {
          version += 1;
          put(sha, `key_${sha}`, version);
          history.set(sha, [...(history.get(sha) ?? []), { at: state.now, version }]);
          if (kind !== 'write') {
            tell({ kind: 'key', id: `key_${sha}` });
            assert.equal((await directory.find(sha))?.revokedAt, version);
          }
        }
      }
    }),
    { numRuns: 300 },
  );
});
