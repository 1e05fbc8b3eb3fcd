import { judgeValue } from './operators.ts';
import { valueAt } from './path.ts';
import type { Claim } from './report.ts';
import { ABSENT, HeaderValues, isView, Many, MISSING, type View } from './view.ts';

export interface JudgeOptions {
  readonly root: View;
  /** Of the run: what `if: {policy}` is held against. */
  readonly policy: string | null;
  /** Fills placeholders of expected texts. */
  readonly fill: (text: string) => string;
}

/** `failures` make the test fail, `notes` are told. */
export interface Judgement {
  readonly failures: readonly string[];
  readonly notes: readonly string[];
}

/** Holds all claims against what was seen. Throws `UnknownPath` on a path or operator that is not known. */
export function judge(claims: readonly Claim[], options: JudgeOptions): Judgement {
  const failures: string[] = [];
  const notes: string[] = [];
  for (const claim of claims) {
    const why = failureOf(claim, options);
    if (why === null) continue;
    if ('on' in claim && claim.soft === true) notes.push(why);
    else failures.push(why);
  }
  return { failures, notes };
}

function failureOf(claim: Claim, options: JudgeOptions): string | null {
  if ('any_of' in claim) {
    const all = claim.any_of.map((one) => failureOf(one, options));
    return all.includes(null) ? null : `none of: ${all.map((why) => `(${why})`).join(' ')}`;
  }
  if ('all_of' in claim) {
    const failed = claim.all_of.map((one) => failureOf(one, options)).filter((why) => why !== null);
    return failed.length === 0 ? null : failed.join('; ');
  }
  if ('if' in claim) {
    const holds = 'policy' in claim.if ? claim.if.policy === options.policy : failureOf(claim.if, options) === null;
    return holds ? failureOf(claim.then, options) : null;
  }
  if (!('on' in claim)) throw new Error(`no claim: ${JSON.stringify(claim)}`);
  return valueFailure(claim, options);
}

function valueFailure(claim: Extract<Claim, { on: string }>, { root, fill }: JudgeOptions): string | null {
  const { on, op } = claim;
  const expected = typeof claim.value === 'string' ? fill(claim.value) : claim.value;
  const actual = valueAt(root, on);
  const verdict = judgeValue(op, actual, expected, { on, tol: claim.tol ?? 0, at: (path) => valueAt(root, path) });
  if (verdict === null) return null;
  const wanted = expected === undefined ? '' : ` ${short(expected)}`;
  return `${on} ${op}${wanted}: ${verdict}, got ${short(actual)}`;
}

/** A value as a person may read it in a failure. */
export function short(value: unknown): string {
  if (value instanceof Many) return `each of [${value.values.slice(0, 12).map(short).join(', ')}]`;
  if (value instanceof HeaderValues) return short(value.values);
  if (value === ABSENT) return '(absent)';
  if (value === MISSING) return '(nothing)';
  if (isView(value)) return '(a part of the observation)';
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 300 ? `${text.slice(0, 200)}… (${text.length} characters)` : text;
}
