import { CLASS_HEADER, type Classified, type Classifier } from '../../core/classifier.ts';
import type { TextPart } from '../../core/chat-request.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Deployment, Route, Snapshot } from '../../core/snapshot.ts';
import { compileMatch, type Match } from './compile-match.ts';
import { inputReader, type RuleContext } from './match-inputs.ts';
import { unionOf } from './references.ts';
import { type FaultEars, holds, usable } from './rule-faults.ts';

export interface RequestClassesOptions extends FaultEars {
  readonly config: Pick<Snapshot, 'classifiers'>;
  readonly clock: Pick<Clock, 'now'>;
}

/** A class and what gave it. */
export interface ClassOf {
  readonly class: string;
  readonly classifier: Classifier;
}

interface Rules {
  readonly rules: readonly { readonly name: string; readonly match: Match; readonly class: string }[];
  readonly inputs: ReturnType<typeof inputReader>;
}

/** The classifiers of a configuration, their rules compiled once. */
export class RequestClasses {
  readonly #options: RequestClassesOptions;
  readonly #byName: ReadonlyMap<string, Rules>;

  constructor(options: RequestClassesOptions) {
    this.#options = options;
    this.#byName = new Map([...options.config.classifiers].map(([name, each]) => [name, this.#compile(each)]));
  }

  /** The class that a route's classifier gives a request, and what finding it took, milliseconds; null where the route has none. */
  of(
    { classifier }: Pick<Route, 'classifier'>,
    ctx: RuleContext,
    onFault: (fault: string) => void,
  ): { readonly classified: Classified | null; readonly classOf: ClassOf | null; readonly classMs: number } {
    if (classifier === null) return { classified: null, classOf: null, classMs: 0 };
    const { clock } = this.#options;
    const before = clock.now();
    const classified = this.#classify(classifier, ctx, onFault);
    return { classified, classOf: { class: classified.class, classifier }, classMs: clock.now() - before };
  }

  /** The class of a request, always one of the classifier's. `onFault` hears which rules failed and why. */
  #classify(classifier: Classifier, ctx: RuleContext, onFault: (fault: string) => void): Classified {
    const { name, text, minMargin, fallback } = classifier;
    const told = classifier.trustsHeader ? ctx.head.headers.get(CLASS_HEADER) : undefined;
    if (told !== undefined && classifier.classes.has(told))
      return { classifier: name, class: told, by: 'header', margin: null };
    const ruled = this.#rule(name, ctx, onFault);
    if (ruled !== null) return { classifier: name, class: ruled, by: 'rule', margin: null };
    if (text === null) return { classifier: name, class: fallback, by: 'default', margin: null };
    const { class: found, margin } = text.classify(askedText(ctx.request.texts));
    return margin < minMargin
      ? { classifier: name, class: fallback, by: 'default', margin }
      : { classifier: name, class: found, by: 'text', margin };
  }

  #rule(name: string, ctx: RuleContext, onFault: (fault: string) => void): string | null {
    const compiled = this.#byName.get(name);
    if (compiled === undefined || compiled.rules.length === 0) return null;
    const variables = compiled.inputs(ctx);
    for (const rule of compiled.rules) {
      if (holds(rule, variables, this.#options, onFault)) return rule.class;
    }
    return null;
  }

  #compile({ name, rules }: Classifier): Rules {
    const compiled = rules.flatMap((rule, at) => {
      const told = { classifier: name };
      const match = usable(compileMatch(rule.when), this.#options, 'rule of a classifier cannot be used', told);
      return match === null ? [] : [{ name: `${name}.rules[${at}]`, match, class: rule.class }];
    });
    return { rules: compiled, inputs: inputReader(unionOf(compiled.map(({ match }) => match.references))) };
  }
}

/** What the trail says of a class. */
export function classWords(classified: Classified | null): string | null {
  if (classified === null) return null;
  const { classifier, class: name, by, margin } = classified;
  const ahead = margin === null || !Number.isFinite(margin) ? '' : `, margin ${margin.toFixed(3)}`;
  return `class ${name} of ${classifier} by ${by}${ahead}`;
}

/** What a user says last, all of its parts; where no user speaks, the last text. */
export function askedText(texts: readonly TextPart[]): string {
  const last = texts.findLast(({ role }) => role === 'user');
  if (last === undefined) return texts.at(-1)?.text ?? '';
  const message = messageOf(last.param);
  const parts = texts.filter(({ role, param }) => role === 'user' && messageOf(param) === message);
  return parts.length === 1 ? last.text : parts.map(({ text }) => text).join('\n');
}

/** `messages[3].content[0].text` belongs to `messages[3]`. */
function messageOf(param: string): string {
  const end = param.indexOf(']');
  return end === -1 ? param : param.slice(0, end + 1);
}

/** Quality of a deployment for a request: by its class as configured, as learned, by its type, else in general. */
export function qualityOf(
  { model, profile }: Pick<Deployment, 'model' | 'profile'>,
  type: string,
  classified: ClassOf | null,
): number {
  const byType = profile.qualityFor.get(type) ?? profile.quality;
  if (classified === null) return byType;
  const { class: name, classifier } = classified;
  return profile.qualityFor.get(name) ?? classifier.text?.quality.get(model)?.get(name) ?? byType;
}
