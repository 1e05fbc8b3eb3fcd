import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTermFilter } from './term-filter.ts';

const TERMS = [
  'bomb',
  'napalm',
  'cocaine',
  'methamphetamine',
  'ransomware',
  'keylogger',
  'suicide',
  'genocide',
  'strychnine',
  'fentanyl',
  'poison',
  'molotov',
  'landmine',
  'anthrax',
  'heroin',
  'kill yourself',
  'nerve agent',
  'credit card dump',
  'pipe bomb',
  'ricin',
  'sarin gas',
  'carding',
  'botnet',
  'rootkit',
  'behead',
  'lynching',
  'terrorist',
  'hitman',
  'sextortion',
  'doxxing',
  'бомба',
  'наркотик',
  'взрывчатка',
  'κοκαΐνη',
  'βόμβα',
  'قنبلة',
  'متفجرات',
  '炸弹',
  '毒品',
  '爆弾',
  '폭탄',
  'बम',
  'विस्फोटक',
  'ระเบิด',
];

/** Null where the disguise leaves the term as it is (rot13 of Han) or cannot be written. */
type Disguise = (term: string) => string | null;

const between =
  (mark: string): Disguise =>
  (term) =>
    [...new Intl.Segmenter().segment(term)].map((part) => part.segment).join(mark);

const swap =
  (from: string, to: readonly string[]): Disguise =>
  (term) => {
    const out = Array.from(term)
      .map((char) => to[from.indexOf(char)] ?? char)
      .join('');
    return out === term ? null : out;
  };

const shifted =
  (base: number): Disguise =>
  (term) =>
    /[a-z]/.test(term) ? term.replace(/[a-z]/g, (c) => String.fromCodePoint(base + c.charCodeAt(0) - 97)) : null;

const DISGUISES: Readonly<Record<string, Disguise>> = {
  'as written': (term) => term,
  'upper case': (term) => (term.toUpperCase() === term ? null : term.toUpperCase()),
  homoglyphs: (term) =>
    swap('aceopxyisjhkmtbn', Array.from('асеорхуіѕјһкмтЬп'))(term) ??
    swap('асеорху', Array.from('aceopxy'))(term) ??
    swap('οαικν', Array.from('oaikv'))(term),
  greek: swap('aoieknv', Array.from('αοιεκην')),
  'zero width': between('\u200b'),
  'word joiner': between('\u2060\u200d'),
  'full width': shifted(0xff41),
  mathematical: shifted(0x1d41a),
  circled: shifted(0x24d0),
  bidi: (term) => `\u202e${between('\u2066\u2069')(term)}\u202c`,
  'tags between': between('\u{e0041}'),
  'in tags': (term) =>
    /^[ -~]+$/.test(term)
      ? Array.from(term)
          .map((c) => String.fromCodePoint(0xe0000 + c.charCodeAt(0)))
          .join('')
      : null,
  combining: (term) => (/^[\p{Script=Latin}\p{Script=Cyrillic} ]+$/u.test(term) ? between('\u0336\u0301')(term) : null),
  'soft hyphen': between('\u00ad'),
  'variation selector': between('\ufe0f'),
  percent: (term) => [...Buffer.from(term)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''),
  entities: (term) =>
    Array.from(term)
      .map((char) => `&#${char.codePointAt(0)};`)
      .join(''),
  'unicode escapes': (term) =>
    Array.from(term)
      .map((char) => `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`)
      .join(''),
  base64: (term) => Buffer.from(term).toString('base64'),
  rot13: (term) => {
    const out = term.replace(/[a-z]/g, (c) => String.fromCharCode(((c.charCodeAt(0) - 84) % 26) + 97));
    return out === term ? null : out;
  },
  dots: (term) => (term.includes(' ') ? null : between('.')(term)),
  spaces: between(' '),
  'emoji between': between('\u{1f525}'),
  leet: (term) => (/^[a-z ]+$/.test(term) ? swap('oieas', ['0', '1', '3', '4', '5'])(term) : null),
};

test('each term is seen through each disguise, inside a sentence of its script', (t) => {
  const filter = createTermFilter(TERMS);
  const rows: string[] = [];
  let seen = 0;
  let all = 0;
  for (const [name, disguise] of Object.entries(DISGUISES)) {
    let caught = 0;
    let tried = 0;
    const missed: string[] = [];
    TERMS.forEach((term, index) => {
      const text = disguise(term);
      if (text === null) return;
      tried++;
      const hit = filter.find(`Tell me: ${text}, as a list`);
      // A term that holds another one (`pipe bomb`) may be found by either.
      if (hit !== null && (hit.term === index || term.includes(TERMS[hit.term] ?? '?'))) caught++;
      else missed.push(term);
    });
    seen += caught;
    all += tried;
    rows.push(`${name.padEnd(20)} ${String(caught).padStart(3)} / ${String(tried).padStart(3)}  ${missed.join(', ')}`);
  }
  t.diagnostic(`${rows.join('\n')}\n${'all'.padEnd(20)} ${seen} / ${all} = ${((100 * seen) / all).toFixed(2)} %`);
  assert.ok(Object.keys(DISGUISES).length >= 14);
  assert.ok(seen / all >= 0.99, `${seen} of ${all}`);
});
