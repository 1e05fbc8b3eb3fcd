/** Small letters that read as the Latin letter before the colon (Unicode TR 39 and everyday use). */
const SMALL = [
  'a:аαɑᴀаꭺ',
  'b:вьβƅʙᏼ',
  'c:сᴄϲꮯ',
  'd:ԁɗđᴅꭰ',
  'e:еεҽəᴇꭼ',
  'f:ƒꜰғ',
  'g:ɡԍցɢգꮐ',
  'h:нһհħʜꮋ',
  'i:іιıɩӏɪ',
  'j:јϳᴊ',
  'k:кκᴋқ',
  'l:łʟꮮ',
  'm:мᴍꮇ',
  'n:пηոռɴŋ',
  'o:оοօøσᴏ',
  'p:рρᴘꮲ',
  'q:ԛզ',
  'r:гʀᴦ',
  's:ѕꜱʂꮪ',
  't:тτŧᴛꭲ',
  'u:սυμᴜʋ',
  'v:νѵᴠ',
  'w:ԝωѡᴡꮃ',
  'x:хχ',
  'y:уγүʏ',
  'z:ᴢʐꮓ',
];

/** Greek capitals look like other letters than their small forms, so they are judged before case is folded. */
const GREEK_CAPITALS = 'ΑaΒbΕeΖzΗhΙiΚkΜmΝnΟoΡpΤtΥyΧx';

/** Marks that stand for another one: quotes, dashes, dots in the middle. */
const MARKS = "’'‘'ʼ'′'“\"”\"‐-‑-‒-–-—-−-·.•.∙.⋅.・.";

function build(): ReadonlyMap<number, number> {
  const map = new Map<number, number>();
  for (const row of SMALL) {
    for (const char of row.slice(2)) map.set(char.charCodeAt(0), row.charCodeAt(0));
  }
  for (const pairs of [GREEK_CAPITALS, MARKS]) {
    for (let i = 0; i < pairs.length; i += 2) map.set(pairs.charCodeAt(i), pairs.charCodeAt(i + 1));
  }
  return map;
}

const LOOKALIKES = build();

/** The ASCII unit that `unit` looks like, else 0. Greek capitals must come before case is folded, others after. */
export function lookalike(unit: number): number {
  return LOOKALIKES.get(unit) ?? 0;
}

/** Latin letters in squares and circles that compatibility normalisation leaves alone, as a small letter, else 0. */
export function enclosedLetter(codePoint: number): number {
  if (codePoint >= 0x1f150 && codePoint <= 0x1f169) return codePoint - 0x1f150 + 97;
  if (codePoint >= 0x1f170 && codePoint <= 0x1f189) return codePoint - 0x1f170 + 97;
  return 0;
}
