/** Nothing is there, and that can be right: a JSON member, a header. */
export const ABSENT = Symbol('absent');
/** Something that should have happened did not, so nothing can be said of it: fails every operator. */
export const MISSING = Symbol('missing');

/** A word of a path that no observation knows: the case asks for something that is not looked at. */
export class UnknownPath extends Error {
  override readonly name = 'UnknownPath';
}

/** A part of an observation that answers to names, and to `[…]` when it is a list. */
export interface View {
  readonly isView: true;
  /** Throws `UnknownPath` for a name that it does not know. */
  get(name: string): unknown;
  /** `[key]`: a number as text, or a word; undefined = not a list. */
  readonly at?: (key: string) => unknown;
  /** `[*]`. */
  readonly items?: readonly unknown[];
}

/** Values of one path with `[*]` or a range in it. */
export class Many {
  readonly values: readonly unknown[];

  constructor(values: readonly unknown[]) {
    this.values = values;
  }
}

/** All values of one header; an empty list is never made. */
export class HeaderValues {
  readonly values: readonly string[];

  constructor(values: readonly string[]) {
    this.values = values;
  }
}

type Lazy = Readonly<Record<string, () => unknown>>;

/** A view with fixed names, each computed when it is asked for. */
export function named(label: string, names: Lazy, list?: readonly unknown[], select: Lazy = {}): View {
  return {
    isView: true,
    get(name) {
      const make = Object.hasOwn(names, name) ? names[name] : undefined;
      if (make === undefined) throw new UnknownPath(`${label} has no "${name}"`);
      return make();
    },
    ...(list === undefined
      ? {}
      : {
          items: list,
          at(key: string) {
            const make = Object.hasOwn(select, key) ? select[key] : undefined;
            if (make !== undefined) return make();
            if (!/^\d+$/.test(key)) throw new UnknownPath(`${label} has no "[${key}]"`);
            return Number(key) < list.length ? list[Number(key)] : MISSING;
          },
        }),
  };
}

/** A view that knows every name. */
export function anyName(get: (name: string) => unknown): View {
  return { isView: true, get };
}

export function isView(value: unknown): value is View {
  return typeof value === 'object' && value !== null && 'isView' in value && value.isView === true;
}

/** Headers by name in lower case; what is not there is absent. */
export function headersView(headers: readonly (readonly [string, string])[]): View {
  return anyName((name) => {
    const values = headers.filter(([one]) => one.toLowerCase() === name.toLowerCase()).map(([, value]) => value);
    return values.length === 0 ? ABSENT : new HeaderValues(values);
  });
}
