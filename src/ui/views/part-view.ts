import type { Part } from '../client/feed.ts';
import type { Problem } from '../client/problem.ts';
import { h } from '../markup/node.ts';
import type { Child, UiElement } from '../markup/node.ts';
import { badge } from '../parts/card.ts';
import { clockTime } from '../text/format.ts';

/** What is shown of a part: its value as long as there is one, else why there is none. */
export function shown<T>(part: Part<T>, show: (value: T) => Child): Child {
  if (part.value !== null) return show(part.value);
  return part.problem === null ? h('p', { class: 'loading' }, 'Loading\u2026') : notice(part.problem);
}

/** A problem in words. */
export function notice({ what, advice, kind }: Problem): UiElement {
  return h('div', { class: `notice notice-${kind}` }, h('p', { class: 'what' }, what), h('p', {}, advice));
}

/** Says that a part is old; null while it is fresh. */
export function staleMark({ value, at, problem }: Part, zone: string): UiElement | null {
  if (value === null || at === null || problem === null) return null;
  return badge('warn', `stale, from ${clockTime(at, zone)}`);
}

/** The problem that a page tells of at its top: what is refused for good stands at its own place. */
export function worstOf(parts: readonly Part[]): Problem | null {
  const order: readonly Problem['kind'][] = ['signed-out', 'away', 'unavailable', 'busy', 'fault'];
  const found = parts.map(({ problem }) => problem).filter((problem) => problem !== null);
  for (const kind of order) {
    const problem = found.find((each) => each.kind === kind);
    if (problem !== undefined) return problem;
  }
  return null;
}
