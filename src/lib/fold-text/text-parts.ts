import { profileText } from './text-profile.ts';

/** Units of a part, and of what is before it that its profile looks at as well: no disguise that a profile tells of spans more once folded. */
const PART = 2048;
const BEFORE = 64;
const BLANK = 32;

/** A text's profile as a whole, and of its parts where it is long. */
export interface PartedProfile {
  readonly flags: number;
  /** Flags of each part in turn. */
  readonly parts: Uint8Array;
}

/** Profiles a text part by part: one odd word in a long text calls for a dear look at its surroundings alone. */
export function profileParts(text: string): PartedProfile {
  const parts = new Uint8Array(Math.ceil(text.length / PART));
  let flags = 0;
  for (let part = 0; part < parts.length; part += 1) {
    const found = profileText(text, Math.max(0, part * PART - BEFORE), Math.min(text.length, (part + 1) * PART));
    parts[part] = found;
    flags |= found;
  }
  return { flags, parts };
}

/**
 * The stretches of an ASCII text, folded if it has wide space or controls, around its parts that have one of the flags in `mask`, at
 * least `margin` units to both sides. They begin and end with whole words of two letters and more, parted by one blank: nothing that
 * was set apart goes on across those.
 */
export function stretches(text: string, { parts }: PartedProfile, mask: number, margin: number): readonly string[] {
  const found: string[] = [];
  let start = -1;
  let end = -1;
  for (const [part, flags] of parts.entries()) {
    if ((flags & mask) === 0) continue;
    const from = wordsBefore(text, part * PART - BEFORE - margin, Math.max(0, end));
    if (start === -1 || from > end) {
      if (start !== -1) found.push(text.slice(start, end));
      start = from;
    }
    const reach = (part + 1) * PART + margin;
    // What was gone over once in search of words is not again.
    if (reach > end) end = wordsBehind(text, reach);
  }
  if (start !== -1) found.push(text.slice(start, end));
  return found;
}

function wordsBefore(text: string, from: number, least: number): number {
  for (let at = from; at > least; at -= 1) if (partsWords(text, at)) return at + 1;
  return least;
}

function wordsBehind(text: string, from: number): number {
  for (let at = from; at < text.length; at += 1) if (partsWords(text, at)) return at;
  return text.length;
}

/** Is here a blank with two letters on both sides? */
function partsWords(text: string, at: number): boolean {
  return (
    text.charCodeAt(at) === BLANK &&
    isLetter(text.charCodeAt(at - 2)) &&
    isLetter(text.charCodeAt(at - 1)) &&
    isLetter(text.charCodeAt(at + 1)) &&
    isLetter(text.charCodeAt(at + 2))
  );
}

function isLetter(unit: number): boolean {
  const small = unit | 0x20;
  return small >= 0x61 && small <= 0x7a;
}
