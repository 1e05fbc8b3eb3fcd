import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { Command } from 'ioredis';
import { ScriptCommand, scriptEnd } from './script-command.ts';

test('is written as the client writes it, whatever the arguments', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ maxLength: 100 }),
    fc.constantFrom('', 'é', '世界', 'x'.repeat(100)),
  );
  fc.assert(
    fc.property(fc.array(text), fc.array(fc.oneof(text, fc.integer())), (keys, args) => {
      const plain = new Command('evalsha', ['hash', keys.length, ...keys, ...args].map(String));
      assert.equal(new ScriptCommand('hash', keys, args).toWritable(), plain.toWritable({}));
    }),
  );
});

test('keys and arguments that were made into text once come last', () => {
  const end = scriptEnd(['k{é}'], ['day', 7]);
  const command = new ScriptCommand('hash', ['a', 'b'], [1, 'two'], end);
  const plain = new Command('evalsha', ['hash', '3', 'a', 'b', 'k{é}', '1', 'two', 'day', '7']);
  assert.equal(command.toWritable(), plain.toWritable({}));
  assert.deepEqual(command.getKeys(), ['a', 'b', 'k{é}']);
});
