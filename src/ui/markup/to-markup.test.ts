import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { h, textOf } from './node.ts';
import { escapeText, toMarkup } from './to-markup.ts';
import { visible } from '../text/visible.ts';

/** Undoes exactly what is written, as a browser would. */
const read = (markup: string): string =>
  markup
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');

test('no text can begin a tag, end an attribute or be an entity', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' })), (text) => {
      const escaped = escapeText(text);
      assert.doesNotMatch(escaped, /[<>"']|&(?!(?:amp|lt|gt|quot|#39);)/);
      assert.equal(read(escaped), visible(text), 'and it is read as it was');
      assert.equal(toMarkup(h('p', { title: text }, text)).split('<').length, 3, 'one tag, opened and closed');
    }),
  );
});

test('characters that steer are shown, not obeyed', () => {
  for (const mark of ['\u0000', '\u001b', '\u202e', '\u2066', '\u200b', '\ufeff', '\ud800', '\udc00', '\u0085'])
    assert.equal(visible(`a${mark}b`), 'a\ufffdb', mark.codePointAt(0)?.toString(16));
  for (const kept of ['\u{1f600}', 'אב', 'é', '日本', '\t', '\n']) assert.equal(visible(kept), kept);
});

test('nothing that could run or lead elsewhere can be made', () => {
  for (const tag of ['script', 'SCRIPT', 'style', 'iframe', 'object', 'base', 'foreignObject', 'a b', 'x>'])
    assert.throws(() => h(tag), RangeError, tag);
  for (const name of ['onclick', 'ONLOAD', 'style', 'srcdoc', 'a"b', 'a b'])
    assert.throws(() => h('p', { [name]: 'x' }), RangeError, name);
  for (const href of [
    'javascript:alert(1)',
    'JaVaScript:x',
    ' javascript:x',
    'data:text/html,x',
    '//evil.example',
    'https://evil.example',
    '/\\evil',
    'vbscript:x',
  ])
    assert.throws(() => h('a', { href }), RangeError, href);
  for (const href of ['#content', 'ui/style/base.css', 'admin/docs']) assert.ok(h('a', { href }));
});

test('what is nothing leaves nothing', () => {
  const node = h(
    'p',
    { hidden: false, title: null, lang: undefined, open: true, tabindex: 0 },
    null,
    undefined,
    false,
    '',
    0,
    ['a', [h('b')]],
  );
  assert.equal(toMarkup(node), '<p open="" tabindex="0">0a<b></b></p>');
  assert.equal(textOf(h('p', {}, 'a', h('b', {}, 'c'), 1)), 'ac1');
});
