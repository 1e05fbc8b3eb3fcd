/** One try under way at a target, from the pick to its outcome. */
export class Lease {
  readonly startedAt: number;
  readonly promptTokens: number;
  readonly kind: string;
  /** When it counts as forgotten. */
  expiresAt: number;
  /** When the first piece of the answer came; null = not yet. */
  firstAt: number | null = null;
  isOver = false;

  constructor(facts: Pick<Lease, 'startedAt' | 'promptTokens' | 'kind' | 'expiresAt'>) {
    this.startedAt = facts.startedAt;
    this.promptTokens = facts.promptTokens;
    this.kind = facts.kind;
    this.expiresAt = facts.expiresAt;
  }
}
