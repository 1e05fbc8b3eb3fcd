import { surgeAbove } from '../compile/compile-surge.ts';
import { checkReference } from './check-models.ts';
import type { CheckContext } from './finding.ts';

/** Rules about protection under high load: levels go up, do something, and name models that are there. */
export function checkSurge(context: CheckContext): void {
  const { document, problem, warn } = context;
  const { surge, routes } = document;
  const allowing = (key: 'divert' | 'reduce_n'): number => routes.findIndex((route) => route[key]);
  if (surge === undefined) {
    for (const key of ['divert', 'reduce_n'] as const) {
      const at = allowing(key);
      if (at !== -1) warn(['routes', at, key], 'has no effect without surge');
    }
    return;
  }
  let before = 0;
  surge.levels.forEach((level, index) => {
    const path = ['surge', 'levels', index];
    const above = surgeAbove(level, index);
    if (above === undefined) problem(path, '"above" is missing: only the first three levels have a usual one');
    else if (above <= before)
      problem(
        [...path, ...(level.above === undefined ? [] : ['above'])],
        `must be above the level before (${before}), not ${above}`,
      );
    before = above ?? before;
    const { refuse_n: refuseN, divert, buffer_streams: buffer } = level.actions;
    if (refuseN === undefined && divert === undefined && !buffer)
      problem([...path, 'actions'], 'do nothing: name refuse_n, divert or buffer_streams');
    if (divert === undefined) return;
    checkReference(context, divert.model, [...path, 'actions', 'divert', 'model']);
    if (allowing('divert') === -1) warn([...path, 'actions', 'divert'], 'has no effect: no route says divert: true');
  });
}
