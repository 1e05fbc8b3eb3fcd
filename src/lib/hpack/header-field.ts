/** What an entry counts for beside its bytes: RFC 7541, section 4.1. */
export const FIELD_OVERHEAD = 32;

/**
 * One field of a header block, with one character a byte. Fields of the tables are shared by all blocks that name them, so what
 * is found out about a field is found out once.
 */
export class HeaderField {
  readonly name: string;
  readonly value: string;
  /** Do name and value keep to the characters of RFC 9113, section 8.2.1? A pseudo-header's name begins with its colon. */
  readonly isSound: boolean;

  constructor(name: string, value: string) {
    this.name = name;
    this.value = value;
    this.isSound = isName(name) && isValue(value);
  }

  /** What it counts for in a table, and in the size of a header list. */
  get size(): number {
    return this.name.length + this.value.length + FIELD_OVERHEAD;
  }
}

const NAME_CHARACTER = buildNameCharacters();

function isName(name: string): boolean {
  const from = name.startsWith(':') ? 1 : 0;
  if (name.length === from) return false;
  for (let at = from; at < name.length; at++) if (NAME_CHARACTER[name.charCodeAt(at)] !== 1) return false;
  return true;
}

function isValue(value: string): boolean {
  if (value === '') return true;
  if (isSpace(value.charCodeAt(0)) || isSpace(value.charCodeAt(value.length - 1))) return false;
  for (let at = 0; at < value.length; at++) {
    const code = value.charCodeAt(at);
    if (code === 0 || code === 10 || code === 13) return false;
  }
  return true;
}

function isSpace(code: number): boolean {
  return code === 32 || code === 9;
}

/** The characters of a token (RFC 9110, section 5.6.2) but for capital letters. */
function buildNameCharacters(): Uint8Array {
  const found = new Uint8Array(256);
  for (const character of "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz") found[character.charCodeAt(0)] = 1;
  return found;
}
