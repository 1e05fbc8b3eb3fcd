const REPLACEMENT = '\ufffd';
/** Surrogates that are not part of a pair. */
const LONE_SURROGATE = /\p{Surrogate}/gu;

/** The text of one choice while it grows. Lengths are UTF-16 units. */
export class ChoiceText {
  #given = '';
  #held = '';
  #pieces = 0;

  /** All text so far, with what is held back. */
  get text(): string {
    return this.#given + this.#held;
  }

  /** How often it grew: one a token when the server streams token by token. */
  get pieces(): number {
    return this.#pieces;
  }

  /**
   * Could `text` be the next state of this choice? What is held back may change: a character whose bytes are not all there
   * yet stands as U+FFFD until they are.
   */
  accepts(text: string): boolean {
    return text.startsWith(this.#given);
  }

  /** Takes the whole text so far, which `accepts` allowed; returns what may be given out now. */
  replace(text: string): string {
    if (text.length > this.text.length) this.#pieces += 1;
    return this.#release(text.slice(this.#given.length));
  }

  /** Takes the next piece. */
  append(piece: string): string {
    if (piece !== '') this.#pieces += 1;
    return this.#release(this.#held + piece);
  }

  /** What was held back, at the end. */
  flush(): string {
    const rest = wellFormed(this.#held);
    this.#given += this.#held;
    this.#held = '';
    return rest;
  }

  /** `tail` is all that was not given out yet. */
  #release(tail: string): string {
    const end = safeLength(tail);
    const fresh = tail.slice(0, end);
    // Only ever added to: cut anew for each piece, a long answer would cost its length squared.
    this.#given += fresh;
    this.#held = tail.slice(end);
    return wellFormed(fresh);
  }
}

/** Where `text` may be cut so that neither half a pair nor a U+FFFD that may still change is given out. */
function safeLength(text: string): number {
  let end = text.length;
  // A character has at most four bytes, so at most three of them stand as U+FFFD for want of the rest.
  while (end > 0 && text.length - end < 3 && text[end - 1] === REPLACEMENT) end -= 1;
  const last = end > 0 ? text.charCodeAt(end - 1) : 0;
  return last >= 0xd800 && last <= 0xdbff ? end - 1 : end;
}

function wellFormed(text: string): string {
  return text.replace(LONE_SURROGATE, REPLACEMENT);
}
