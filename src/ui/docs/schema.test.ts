import assert from 'node:assert/strict';
import { test } from 'node:test';
import { API, OPERATIONS, operation } from './docs-kit.test.ts';
import { matches } from './document.ts';
import { exampleOf, fieldsOf, wordsOf } from './schema.ts';

const { schemas } = API.components;

test('every operation of the document is there, with its parameters and answers', () => {
  const count = Object.values(API.paths).reduce((sum, methods) => sum + Object.keys(methods).length, 0);
  assert.equal(OPERATIONS.length, count);
  for (const { name, replies, write, parameters } of OPERATIONS) {
    assert.ok(
      replies.some(({ status }) => status < 300),
      name,
    );
    assert.ok(
      replies.every(({ meaning }) => meaning !== ''),
      name,
    );
    assert.equal(
      parameters.some((each) => each.name === 'Idempotency-Key'),
      write,
      name,
    );
  }
});

test('a body in words: choices merged, lists and objects down to the last field', () => {
  const fields = new Map(
    fieldsOf({ $ref: '#/components/schemas/KeyCreate' }, schemas).map((each) => [each.path, each]),
  );
  assert.equal(fields.get('name')?.required, true);
  assert.equal(fields.get('business_line')?.type, 'text or null');
  assert.equal(fields.get('models')?.type, 'list of text');
  assert.ok(fields.get('models')?.rules.includes('default ["*"]'));
  assert.equal(fields.get('limits[].unit')?.type, '"requests" or "tokens" or "spend"');
  assert.equal(fields.get('limits[].window.kind')?.type, '"sliding" or "calendar" or "concurrent"');
  assert.equal(fields.get('limits[].window.kind')?.required, true);
  assert.equal(fields.get('limits[].window.seconds')?.required, false, 'only one kind of window has it');
  assert.equal(fields.get('expires_at')?.type, 'time or null');
  assert.ok(
    fields.get('expires_at')?.rules.every((rule) => rule.length < 60),
    'patterns of times say nothing to people',
  );
});

test('no field of any schema is without a type, and what leads to itself ends', () => {
  for (const [name, schema] of Object.entries(schemas))
    for (const { path, type } of fieldsOf(schema, schemas)) assert.notEqual(type, '', `${name} ${path}`);
  const tree = { Tree: { type: 'object', properties: { inside: { $ref: '#/components/schemas/Tree' } } } } as const;
  assert.ok(fieldsOf({ $ref: '#/components/schemas/Tree' }, tree).length < 20);
  assert.equal(wordsOf({}, {}).type, 'anything');
  assert.equal(wordsOf({ $ref: '#/components/schemas/Gone' }, {}).type, '');
});

test('a body to begin with', () => {
  const body = { $ref: '#/components/schemas/BudgetCreate' };
  assert.deepEqual(exampleOf(body, schemas, false), { tenant: '', period: 'day', amount_micros: 1 });
  assert.deepEqual(Object.keys(exampleOf(body, schemas, true) as object).length, 6);
});

test('operations are found by any of their words', () => {
  const found = (words: string) => OPERATIONS.filter((each) => matches(each, words, schemas)).map(({ name }) => name);
  assert.equal(found('').length, OPERATIONS.length);
  assert.deepEqual(found('GRACE_seconds'), ['key.rotate']);
  assert.deepEqual(found('delete /admin/budgets'), ['budget.delete']);
  assert.deepEqual(found('no-such-word'), []);
  assert.ok(matches(operation('key.create'), 'limits window', schemas));
});
