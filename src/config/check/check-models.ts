import type { Path } from '../problem.ts';
import { didYouMean } from '../suggest.ts';
import { resolveAlias } from '../compile/resolve-alias.ts';
import { defaultMaxTokens, modelsOf } from '../compile/compile-models.ts';
import { checkLimits, checkQueues } from './check-limits.ts';
import { checkPrice } from './check-price.ts';
import type { CheckContext } from './finding.ts';

/** Rules about models, aliases and routes. */
export function checkModels(context: CheckContext): void {
  const { document, problem } = context;
  const names = new Set<string>();
  document.models.forEach((model, index) => {
    const path = ['models', index];
    if (names.has(model.name)) problem([...path, 'name'], `"${model.name}" is named twice`);
    names.add(model.name);
    checkDeployments(context, model, path);
    checkAffinity(context, model, path);
    model.fallback.forEach((name, at) => {
      const target = checkReference(context, name, [...path, 'fallback', at]);
      if (target === model.name) problem([...path, 'fallback', at], 'leads back to the model itself');
    });
  });
  for (const alias of Object.keys(document.aliases)) checkAlias(context, alias);
  checkReplay(context, document.retry.replay, ['retry', 'replay']);
  checkQueues(context);
  checkRoutes(context);
}

function checkAffinity(
  { document, problem }: CheckContext,
  model: CheckContext['document']['models'][number],
  path: Path,
): void {
  if (model.affinity === 'none' || model.balance === 'load') return;
  const pools = new Set(document.backends.filter(({ pool }) => pool !== undefined).map((backend) => backend.name));
  if (model.deployments.some(({ backend }) => pools.has(backend))) return;
  const isScored = document.routes.some(
    ({ weights, candidates }) =>
      weights !== undefined &&
      candidates.some((candidate) => resolveAlias(document.aliases, candidate.model) === model.name),
  );
  if (!isScored)
    problem(
      [...path, 'affinity'],
      'has no effect without balance: load, a pool, or weights in a route that has the model among its candidates',
    );
}

function checkDeployments(context: CheckContext, model: CheckContext['document']['models'][number], path: Path): void {
  const { document, problem, warn } = context;
  const backends = document.backends.map((backend) => backend.name);
  const seen = new Set<string>();
  model.deployments.forEach((deployment, at) => {
    const where = [...path, 'deployments', at];
    if (!backends.includes(deployment.backend))
      problem(
        [...where, 'backend'],
        `there is no backend "${deployment.backend}".${didYouMean(deployment.backend, backends)}`,
      );
    if (seen.has(deployment.backend))
      problem([...where, 'backend'], `"${model.name}" stands on "${deployment.backend}" twice`);
    seen.add(deployment.backend);
    const { profile, limits, price } = deployment;
    const dialect = document.backends.find((backend) => backend.name === deployment.backend)?.dialect;
    const templates = dialect === undefined ? null : context.chatTemplates(dialect);
    if (templates !== null && deployment.chat_template !== undefined && !templates.includes(deployment.chat_template))
      problem(
        [...where, 'chat_template'],
        `there is no chat template "${deployment.chat_template}"; there are ${templates.join(', ')}.${didYouMean(deployment.chat_template, templates)}`,
      );
    if (templates !== null && deployment.chat_template === undefined)
      warn(
        [...where],
        `names no chat_template: "${model.name}" takes completions there and no chats; there are ${templates.join(', ')}`,
      );
    if (profile.max_concurrency !== undefined && limits?.concurrency !== undefined)
      problem([...where, 'profile', 'max_concurrency'], 'says the same as limits.concurrency: keep one');
    if (profile.max_concurrency !== undefined && limits?.per_instance !== undefined)
      problem([...where, 'profile', 'max_concurrency'], 'stands in place of limits.per_instance: keep one');
    checkLimits(context, limits, [...where, 'limits']);
    if (profile.context !== undefined && defaultMaxTokens(profile) >= profile.context)
      problem([...where, 'profile', 'default_max_tokens'], 'must be smaller than the context');
    checkPrice(context, price, [...where, 'price']);
  });
}

/** Reports a name that is no model and gives the model it stands for. */
export function checkReference(context: CheckContext, name: string, path: Path): string | null {
  const { document, problem } = context;
  const target = resolveAlias(document.aliases, name);
  const known = document.models.map((model) => model.name);
  // A broken alias is reported once, at the alias.
  if (target === null) return null;
  if (known.includes(target)) return target;
  if (target === name)
    problem(path, `there is no model "${name}".${didYouMean(name, [...known, ...Object.keys(document.aliases)])}`);
  return null;
}

function checkAlias({ document, problem, warn }: CheckContext, alias: string): void {
  const path = ['aliases', alias];
  if (document.models.some((model) => model.name === alias)) problem(path, 'is the name of a model already');
  const target = resolveAlias(document.aliases, alias);
  if (target === null) {
    problem(path, 'leads in a circle');
    return;
  }
  const model = document.models.find((candidate) => candidate.name === target);
  const known = document.models.map((candidate) => candidate.name);
  // A chain is reported at its last link only.
  if (model === undefined && document.aliases[alias] === target)
    problem(path, `there is no model "${target}".${didYouMean(target, known)}`);
  if (model?.stage === 'retired') warn(path, `leads to "${target}", which is retired`);
}

function checkRoutes(context: CheckContext): void {
  const { document, problem, warn } = context;
  const names = new Set<string>();
  document.routes.forEach((route, index) => {
    const path = ['routes', index];
    if (names.has(route.name)) problem([...path, 'name'], `"${route.name}" is named twice`);
    names.add(route.name);
    const open = route.match === undefined && modelsOf(route).includes('*');
    if (route.name === 'default' && (route.match !== undefined || route.models !== undefined))
      problem([...path, 'name'], '"default" is kept for the route without match and models');
    if (open && index < document.routes.length - 1)
      warn(path, 'takes every request: the routes below are never looked at');
    const fault = route.match === undefined ? null : context.checkMatch(route.match, 'match');
    if (fault !== null) problem([...path, 'match'], `is not a usable CEL expression: ${fault.message}`, fault.offset);
    checkReplay(context, route.replay, [...path, 'replay']);
    checkScore(context, route, path);
    checkCandidates(context, route, path);
  });
}

/** `always`, `never`, or an expression. */
function checkReplay({ checkMatch, problem }: CheckContext, rule: string | undefined, path: Path): void {
  if (rule === undefined || rule === 'always' || rule === 'never') return;
  const fault = checkMatch(rule, 'match');
  if (fault !== null)
    problem(path, `is neither always nor never, nor a usable CEL expression: ${fault.message}`, fault.offset);
}

function checkScore(context: CheckContext, route: CheckContext['document']['routes'][number], path: Path): void {
  const { problem, checkMatch } = context;
  const { score, weights } = route;
  if (score === undefined) return;
  const where = [...path, 'score'];
  if (weights === undefined)
    problem(where, 'has no effect without weights: name what counts, such as weights: {cost: 0.5, quality: 0.5}');
  const check = (source: string, use: 'when' | 'score', at: Path): void => {
    const fault = checkMatch(source, use);
    if (fault !== null) problem(at, `is not a usable CEL expression: ${fault.message}`, fault.offset);
  };
  if (score.expression !== undefined) check(score.expression, 'score', [...where, 'expression']);
  score.rules.forEach(({ when }, at) => check(when, 'when', [...where, 'rules', at, 'when']));
}

function checkCandidates(context: CheckContext, route: CheckContext['document']['routes'][number], path: Path): void {
  const { document, problem } = context;
  const targets = route.candidates.map((candidate, at) =>
    checkReference(context, candidate.model, [...path, 'candidates', at, 'model']),
  );
  const seen = new Set<string>();
  targets.forEach((target, at) => {
    if (target !== null && seen.has(target))
      problem([...path, 'candidates', at, 'model'], `"${target}" stands here twice`);
    if (target !== null) seen.add(target);
  });
  route.fallback.forEach((name, at) => checkReference(context, name, [...path, 'fallback', at]));
  if (route.candidates.length === 0) return;
  if (route.candidates.every((candidate) => candidate.weight === 0))
    problem([...path, 'candidates'], 'all have the weight 0: none would ever serve');
  if (route.candidates.every((candidate) => candidate.canary))
    problem([...path, 'candidates'], 'are all canaries: one must be the rule');
  const stages = targets.map((target) => document.models.find((model) => model.name === target)?.stage);
  if (stages.every((stage) => stage === 'retired'))
    problem([...path, 'candidates'], 'are all retired: none would ever serve');
}
