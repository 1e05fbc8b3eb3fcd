import type { TextPart } from '../../core/chat-request.ts';
import type { LongString } from '../../lib/json-span/long-string.ts';
import { estimatePiecewise } from '../../lib/token-estimate/estimate-tokens.ts';

export interface LongTextOptions {
  readonly param: string;
  readonly role: string;
  readonly string: LongString;
}

/** A text that is decoded when somebody reads it. */
export class LongText implements TextPart {
  readonly param: string;
  readonly role: string;
  readonly #string: LongString;

  constructor({ param, role, string }: LongTextOptions) {
    this.param = param;
    this.role = role;
    this.#string = string;
  }

  get text(): string {
    return this.#string.text;
  }

  /** About how many tokens it is, by samples where it is long enough for them. */
  tokens(): number {
    return estimatePiecewise(this.#string);
  }
}
