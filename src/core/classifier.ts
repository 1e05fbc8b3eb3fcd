/** The header by which a client may name the class of its request. */
export const CLASS_HEADER = 'x-request-class';

/** What says of which class a text is, learned from others. */
export interface TextClasses {
  /** Bounded in time whatever the text's length. `margin`: how far the class is ahead of the second, at least 0. */
  readonly classify: (text: string) => { readonly class: string; readonly margin: number };
  /** Quality by model and class, 0..1, of models that it was trained on. */
  readonly quality: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

/** Sorts requests into classes: the client's word, then rules, then what was learned, else `fallback`. */
export interface Classifier {
  readonly name: string;
  /** May the client's `x-request-class` name the class? */
  readonly trustsHeader: boolean;
  /** CEL over the request, in order: the first that is true. */
  readonly rules: readonly { readonly when: string; readonly class: string }[];
  readonly text: TextClasses | null;
  /** Verdicts of `text` with a smaller margin do not count. */
  readonly minMargin: number;
  readonly fallback: string;
  /** Every class that it may give. */
  readonly classes: ReadonlySet<string>;
}

/** How a class was found. Closed: metrics and the audit use it. */
export type ClassifiedBy = 'header' | 'rule' | 'text' | 'default';

/** The class of one request. */
export interface Classified {
  readonly classifier: string;
  readonly class: string;
  readonly by: ClassifiedBy;
  /** Of the text's verdict, also of one that did not count; null where the text was not looked at. */
  readonly margin: number | null;
}
