import { type Finding, isOutReason, type OutReason, type Source, type TargetFindings } from '../core/finding.ts';

/** A source changed its mind, or what it said ran out. */
export interface FindingChange {
  readonly incarnation: string;
  readonly source: Source;
  readonly before: Finding | null;
  readonly after: Finding | null;
}

/** One thing that counts now. */
export interface Found {
  readonly incarnation: string;
  readonly source: Source;
  readonly finding: Finding;
}

/** What sources outside the tries say of targets, also of those that nobody used yet. Each source has a place of its own. */
export class Findings implements TargetFindings {
  readonly #byTarget = new Map<string, Map<Source, Finding>>();
  readonly #onChange: (change: FindingChange) => void;

  constructor({ onChange = () => {} }: { readonly onChange?: (change: FindingChange) => void } = {}) {
    this.#onChange = onChange;
  }

  set(incarnation: string, source: Source, after: Finding | null): void {
    const own = this.#byTarget.get(incarnation) ?? new Map<Source, Finding>();
    const before = own.get(source) ?? null;
    if (after !== null) {
      own.set(source, after);
      this.#byTarget.set(incarnation, own);
    } else if (own.delete(source) && own.size === 0) this.#byTarget.delete(incarnation);
    if (before !== null || after !== null) this.#onChange({ incarnation, source, before, after });
  }

  get(incarnation: string, source: Source, now: number): Finding | null {
    const found = this.#byTarget.get(incarnation)?.get(source);
    return found !== undefined && found.until > now ? found : null;
  }

  /** 0..1: the lowest of all sources; 1 where none says anything. */
  factor(incarnation: string, now: number): number {
    let least = 1;
    for (const { factor, until } of this.#byTarget.get(incarnation)?.values() ?? [])
      if (until > now && factor < least) least = factor;
    return Math.max(0, least);
  }

  /** Why nothing may go there; null = it may. */
  out(incarnation: string, now: number): OutReason | null {
    for (const { factor, reason, until } of this.#byTarget.get(incarnation)?.values() ?? [])
      if (factor <= 0 && until > now && isOutReason(reason)) return reason;
    return null;
  }

  /** All that counts of one target. */
  of(incarnation: string, now: number): readonly Found[] {
    const own = this.#byTarget.get(incarnation) ?? [];
    return [...own].flatMap(([source, finding]) => (finding.until > now ? [{ incarnation, source, finding }] : []));
  }

  *all(now: number): Generator<Found> {
    for (const [incarnation, own] of this.#byTarget)
      for (const [source, finding] of own) if (finding.until > now) yield { incarnation, source, finding };
  }

  /** Puts `found` in the place of all there was. */
  replace(found: readonly Found[]): void {
    const said = new Set(found.map(({ incarnation, source }) => `${source} ${incarnation}`));
    for (const { incarnation, source } of this.all(-Infinity))
      if (!said.has(`${source} ${incarnation}`)) this.set(incarnation, source, null);
    for (const { incarnation, source, finding } of found) this.set(incarnation, source, finding);
  }

  /** Lets go of what ran out. */
  sweep(now: number): void {
    for (const { incarnation, source, finding } of this.all(-Infinity))
      if (finding.until <= now) this.set(incarnation, source, null);
  }
}
