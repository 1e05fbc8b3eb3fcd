import type { Path } from '../problem.ts';
import type { FileReader } from '../references.ts';
import type { ConfigDocument } from '../schema/document.ts';

/** Says whether a CEL expression can be used. `offset` counts characters into the source. */
export type CheckMatch = (source: string) => { readonly message: string; readonly offset: number } | null;

/** What the rules look at, and where they put what they find. */
export interface CheckContext {
  readonly document: ConfigDocument;
  readonly files: FileReader;
  readonly checkMatch: CheckMatch;
  readonly dialects: readonly string[];
  readonly problem: (path: Path, message: string, offset?: number) => void;
  readonly warn: (path: Path, message: string) => void;
}
