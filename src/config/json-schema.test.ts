import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { Ajv } from 'ajv';
import { parse } from 'yaml';
import { renderJsonSchema } from './json-schema.ts';

const root = path.resolve(import.meta.dirname, '../..');
const text = renderJsonSchema();
const validate = new Ajv({ strict: true, allowUnionTypes: true, formats: { 'date-time': true } }).compile(
  JSON.parse(text) as object,
);
const example = (name: string) =>
  parse(fs.readFileSync(path.join(root, 'examples', name), 'utf8')) as Record<string, unknown>;
const names = fs
  .readdirSync(path.join(root, 'examples'))
  .filter((name) => name.endsWith('.yaml'))
  .concat('compose/tokenlat.yaml');

test('the published schema is up to date', () => {
  assert.equal(
    fs.readFileSync(path.join(root, 'schema/tokenlat.schema.json'), 'utf8'),
    text,
    'run: node test/render/generated.ts',
  );
});

test('the examples fit the schema', () => {
  assert.ok(names.length >= 3);
  for (const name of names) assert.ok(validate(example(name)), `${name}: ${JSON.stringify(validate.errors)}`);
});

test('the schema refuses what the loader refuses', () => {
  const base = example('minimal.yaml');
  assert.ok(!validate({ ...base, modles: [] }));
  assert.ok(!validate({ ...base, version: 2 }));
  assert.ok(!validate({ ...base, listen: { port: 'x' } }));
  assert.ok(!validate({ ...base, timeouts: { idle: '5 s' } }));
  assert.ok(validate({ ...base, listen: { port: '${env:PORT}' }, timeouts: { idle: '${env:IDLE:-5s}' } }));
});

test('every key is described or is a section of described keys', () => {
  const bare: string[] = [];
  const walk = (node: unknown, at: string): void => {
    if (typeof node !== 'object' || node === null) return;
    for (const [key, value] of Object.entries((node as { properties?: object }).properties ?? {})) {
      const schema = value as { description?: string; properties?: object; default?: unknown };
      if ('default' in schema && schema.description === undefined && schema.properties === undefined)
        bare.push(`${at}.${key}`);
    }
    for (const [key, value] of Object.entries(node)) walk(value, `${at}.${key}`);
  };
  walk(JSON.parse(text), '');
  assert.deepEqual(bare, []);
});
