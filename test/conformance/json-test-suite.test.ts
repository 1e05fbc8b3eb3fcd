import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { JsonError } from '../../src/lib/json-span/json-error.ts';
import { parseJson } from '../../src/lib/json-span/parse-json.ts';

interface SuiteCase {
  readonly name: string;
  readonly expect: 'accept' | 'reject' | 'either' | 'transform';
  readonly len: number;
  readonly sha256: string;
  readonly b64?: string;
  readonly repeat_b64?: string;
  readonly times?: number;
  readonly tail_b64?: string;
}

const file = new URL('../fixtures/json-test-suite/cases.jsonl', import.meta.url);
const cases = readFileSync(file, 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line) as SuiteCase);

const decode = (text = ''): Buffer => Buffer.from(text, 'base64');

function bytesOf(entry: SuiteCase): Buffer {
  if (entry.b64 !== undefined) return decode(entry.b64);
  const repeated = Array.from({ length: entry.times ?? 0 }, () => decode(entry.repeat_b64));
  return Buffer.concat([...repeated, decode(entry.tail_b64)]);
}

/** `taken`, or the fault for which it is refused. */
function verdict(entry: SuiteCase, refuseDuplicates: boolean): string {
  try {
    parseJson(bytesOf(entry), { maxDepth: 64, refuseDuplicates });
    return 'taken';
  } catch (error) {
    assert.ok(error instanceof JsonError, `${entry.name}: ${String(error)}`);
    return error.fault;
  }
}

const verdicts = (expect: SuiteCase['expect'], duplicates: boolean): Record<string, string> =>
  Object.fromEntries(
    cases.filter((entry) => entry.expect === expect).map((entry) => [entry.name, verdict(entry, duplicates)]),
  );

test('the fixture is whole', () => {
  for (const entry of cases) {
    assert.equal(createHash('sha256').update(bytesOf(entry)).digest('hex'), entry.sha256, entry.name);
  }
});

test('95 of 95 valid texts are taken', () => {
  const seen = Object.values(verdicts('accept', false));
  assert.equal(seen.length, 95);
  assert.deepEqual(new Set(seen), new Set(['taken']));
});

test('as bodies, only the two with a key given twice are refused besides', () => {
  const refused = Object.entries(verdicts('accept', true)).filter(([, seen]) => seen !== 'taken');
  assert.deepEqual(refused, [
    ['y_object_duplicated_key', 'duplicate-key'],
    ['y_object_duplicated_key_and_value', 'duplicate-key'],
  ]);
});

test('188 of 188 invalid texts are refused', () => {
  const seen = Object.entries(verdicts('reject', true));
  assert.equal(seen.length, 188);
  assert.deepEqual(
    seen.filter(([, fault]) => fault === 'taken'),
    [],
  );
});

test('what the standard leaves open is pinned', () => {
  assert.deepEqual(verdicts('either', true), EITHER);
});

test('texts that parsers like to change are taken or refused for a reason', () => {
  const seen = Object.entries(verdicts('transform', true));
  assert.equal(seen.length, 22);
  assert.deepEqual(Object.fromEntries(seen.filter(([, fault]) => fault !== 'taken')), TRANSFORM_REFUSED);
});

const EITHER: Record<string, string> = {
  i_number_double_huge_neg_exp: 'taken',
  i_number_huge_exp: 'taken',
  i_number_neg_int_huge_exp: 'taken',
  i_number_pos_double_huge_exp: 'taken',
  i_number_real_neg_overflow: 'taken',
  i_number_real_pos_overflow: 'taken',
  i_number_real_underflow: 'taken',
  i_number_too_big_neg_int: 'taken',
  i_number_too_big_pos_int: 'taken',
  i_number_very_big_negative_int: 'taken',
  i_object_key_lone_2nd_surrogate: 'encoding',
  i_string_1st_surrogate_but_2nd_missing: 'encoding',
  i_string_1st_valid_surrogate_2nd_invalid: 'encoding',
  'i_string_UTF-16LE_with_BOM': 'encoding',
  'i_string_UTF-8_invalid_sequence': 'encoding',
  'i_string_UTF8_surrogate_U+D800': 'encoding',
  i_string_incomplete_surrogate_and_escape_valid: 'encoding',
  i_string_incomplete_surrogate_pair: 'encoding',
  i_string_incomplete_surrogates_escape_valid: 'encoding',
  i_string_invalid_lonely_surrogate: 'encoding',
  i_string_invalid_surrogate: 'encoding',
  'i_string_invalid_utf-8': 'encoding',
  'i_string_inverted_surrogates_U+1D11E': 'encoding',
  i_string_iso_latin_1: 'encoding',
  i_string_lone_second_surrogate: 'encoding',
  i_string_lone_utf8_continuation_byte: 'encoding',
  i_string_not_in_unicode_range: 'encoding',
  i_string_overlong_sequence_2_bytes: 'encoding',
  i_string_overlong_sequence_6_bytes: 'encoding',
  i_string_overlong_sequence_6_bytes_null: 'encoding',
  'i_string_truncated-utf-8': 'encoding',
  i_string_utf16BE_no_BOM: 'encoding',
  i_string_utf16LE_no_BOM: 'encoding',
  'i_structure_UTF-8_BOM_empty_object': 'encoding',
  i_structure_500_nested_arrays: 'depth',
};

const TRANSFORM_REFUSED: Record<string, string> = {
  object_same_key_different_values: 'duplicate-key',
  object_same_key_same_value: 'duplicate-key',
  object_same_key_unclear_values: 'duplicate-key',
  string_1_escaped_invalid_codepoint: 'encoding',
  string_1_invalid_codepoint: 'encoding',
  string_2_escaped_invalid_codepoints: 'encoding',
  string_2_invalid_codepoints: 'encoding',
  string_3_escaped_invalid_codepoints: 'encoding',
  string_3_invalid_codepoints: 'encoding',
};
