import type { LongString } from './long-string.ts';

/** What a long string stands in: an object, or an array. */
export type Holder = Record<string | number, unknown>;

/** The long strings of a parsed text by their places. Until `fill` these hold something else, which is a string as well. */
export class LongStrings {
  readonly #holders = new Map<unknown, Map<string | number, LongString>>();

  add(holder: Holder, key: string | number, string: LongString): void {
    const strings = this.#holders.get(holder);
    if (strings === undefined) this.#holders.set(holder, new Map([[key, string]]));
    else strings.set(key, string);
  }

  /** The one that is the value of this member or element. */
  at(holder: unknown, key: string | number): LongString | undefined {
    return this.#holders.size === 0 ? undefined : this.#holders.get(holder)?.get(key);
  }

  /** Puts them into their places, each to be decoded when it is read. */
  fill(): void {
    for (const [holder, strings] of this.#holders) {
      for (const [key, string] of strings) {
        Object.defineProperty(holder, key, {
          get: () => string.text,
          enumerable: true,
          configurable: true,
        });
      }
    }
  }
}
