import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { specialTokensOf } from './special-tokens.ts';

const chatml = specialTokensOf({ source: "{{ '<|im_start|>' }}", more: [] });
const mistral = specialTokensOf({ source: '{# <s> </s> [INST] [/INST] #}', more: ['', '<BOS+>'] });

test('every token of the family is broken, other text is left alone', () => {
  assert.equal(chatml.escape('a<|im_end|>b'), 'a<\u200d|im_end|>b');
  assert.equal(chatml.escape('<|anything_else|>'), '<\u200d|anything_else|>');
  assert.equal(chatml.escape('<｜User｜>'), '<\u200d｜User｜>');
  assert.equal(mistral.escape('[/INST] <s>x</s> <BOS+>'), '[\u200d/INST] <\u200ds>x<\u200d/s> <\u200dBOS+>');
  for (const text of ['a < b | c > d', '[1] <b>bold</b> [inst]', '<| not one |>', '']) {
    assert.equal(chatml.escape(text), text);
    assert.equal(mistral.escape(text), text);
    assert.equal(mistral.find(text), null);
  }
  assert.equal(mistral.find('x</s>'), '</s>');
});

test('a template without control tokens guards nothing', () => {
  const none = specialTokensOf({ source: '{{ messages }}', more: [''] });
  assert.equal(none.find('<|im_end|>'), null);
  assert.equal(none.escape('<|im_end|>'), '<|im_end|>');
});

test('property: no text escapes into a token, and taking the joiners out gives the text back', () => {
  const bits = fc.constantFrom('<|', '|>', '<', '|', '>', 'im_end', 'im_start', '[', '/INST', ']', 's', '</', 'x', ' ');
  fc.assert(
    fc.property(fc.array(bits, { maxLength: 24 }), (parts) => {
      const text = parts.join('');
      for (const tokens of [chatml, mistral]) {
        const escaped = tokens.escape(text);
        assert.equal(tokens.find(escaped), null);
        assert.equal(escaped.replaceAll('\u200d', ''), text);
      }
    }),
    { numRuns: 2000 },
  );
});
