import type { Backend } from '../../core/snapshot.ts';
import type { StageDecision } from '../../core/stage.ts';
import type { Path } from '../problem.ts';
import type { FileReader } from '../references.ts';
import type { ConfigDocument } from '../schema/document.ts';

/** What a CEL expression is for: it takes a route, takes a rule of a score, or gives a score. */
export type ExpressionUse = 'match' | 'when' | 'score';

/** Says whether a CEL expression can be used. `offset` counts characters into the source. */
export type CheckMatch = (
  source: string,
  use: ExpressionUse,
) => { readonly message: string; readonly offset: number } | null;

/** Says what is wrong with a backend's `options` for its dialect; null when nothing is. */
export type CheckOptions = (dialect: string, options: Backend['options']) => string | null;

/** Names of the chat templates of a dialect; null for one that has none of its own. */
export type ChatTemplates = (dialect: string) => readonly string[] | null;

/** What was decided of a deployment (`<model>@<backend>`) so far; null = nothing. */
export type Decided = (id: string) => StageDecision | null;

/** What the rules look at, and where they put what they find. */
export interface CheckContext {
  readonly document: ConfigDocument;
  readonly files: FileReader;
  readonly checkMatch: CheckMatch;
  readonly dialects: readonly string[];
  readonly checkOptions: CheckOptions;
  readonly chatTemplates: ChatTemplates;
  readonly ownRedis: boolean;
  readonly decided: Decided;
  readonly problem: (path: Path, message: string, offset?: number) => void;
  readonly warn: (path: Path, message: string) => void;
}
