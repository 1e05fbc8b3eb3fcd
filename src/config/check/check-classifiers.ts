import type { Endpoint } from '../../core/chat-request.ts';
import { CLASS_HEADER } from '../../core/classifier.ts';
import { faultText, readTextModel, type TextModelFile } from '../../lib/text-classes/model-file.ts';
import { classesOf } from '../compile/compile-classifiers.ts';
import { resolveAlias } from '../compile/resolve-alias.ts';
import { didYouMean } from '../suggest.ts';
import type { CheckContext } from './finding.ts';

/** What `request.type` is where clients name none. */
const ENDPOINTS: ReadonlySet<string> = new Set<Endpoint>(['chat', 'completions', 'embeddings']);

type RouteEntry = CheckContext['document']['routes'][number];

/** Rules about classifiers and what routes make of classes. Gives the models of texts that were read, by classifier. */
export function checkClassifiers(context: CheckContext): ReadonlyMap<string, TextModelFile> {
  const { document, files, checkMatch, problem, warn } = context;
  const models = new Map<string, TextModelFile>();
  const names = new Set<string>();
  document.classifiers.forEach((entry, index) => {
    const path = ['classifiers', index];
    if (names.has(entry.name)) problem([...path, 'name'], `"${entry.name}" is named twice`);
    names.add(entry.name);
    if (!entry.header && entry.rules.length === 0 && entry.model === undefined)
      problem(path, 'says nothing of a request: name rules or model, or allow the header');
    entry.rules.forEach(({ when }, at) => {
      const fault = checkMatch(when, 'match');
      if (fault !== null)
        problem([...path, 'rules', at, 'when'], `is not a usable CEL expression: ${fault.message}`, fault.offset);
    });
    if (entry.classes.length > 0 && !entry.header)
      warn([...path, 'classes'], `has no effect without header: true, as only ${CLASS_HEADER} names them`);
    if (entry.model === undefined) {
      if (entry.min_margin > 0) problem([...path, 'min_margin'], 'has no effect without model');
      return;
    }
    const read = files.text(entry.model);
    if ('error' in read) {
      problem([...path, 'model'], read.error);
      return;
    }
    const model = readTextModel(read.text);
    if ('fault' in model) problem([...path, 'model'], `${files.resolve(entry.model)} ${faultText(model.fault)}`);
    else models.set(entry.name, model);
  });
  document.routes.forEach((route, index) => checkRoute(context, route, index, models));
  checkQualities(context, models);
  return models;
}

/** Names in `quality_for` that are no class: a slip, or a type that clients must name. */
function checkQualities({ document, warn }: CheckContext, models: ReadonlyMap<string, TextModelFile>): void {
  const classes = new Set(document.classifiers.flatMap((entry) => [...classesOf(entry, models.get(entry.name))]));
  // A model of texts that cannot be read may have any class.
  if (document.classifiers.some(({ name, model }) => model !== undefined && !models.has(name))) return;
  const classified = new Set(
    document.routes
      .filter(({ classify }) => classify !== undefined)
      .flatMap(({ candidates }) => candidates.map(({ model }) => resolveAlias(document.aliases, model) ?? model)),
  );
  document.models.forEach((model, index) => {
    if (!classified.has(model.name)) return;
    model.deployments.forEach(({ profile }, at) => {
      for (const name of Object.keys(profile?.quality_for ?? {}))
        if (!classes.has(name) && !ENDPOINTS.has(name))
          warn(
            ['models', index, 'deployments', at, 'profile', 'quality_for', name],
            `no classifier knows a class "${name}": it counts only for requests with x-request-type: ${name}.${didYouMean(name, [...classes])}`,
          );
    });
  });
}

function checkRoute(
  { document, problem, warn }: CheckContext,
  route: RouteEntry,
  index: number,
  models: ReadonlyMap<string, TextModelFile>,
): void {
  const path = ['routes', index];
  const { classify, weights_for: weightsFor, weights } = route;
  const weighed = Object.keys(weightsFor);
  if (classify === undefined) {
    if (weighed.length > 0) problem([...path, 'weights_for'], 'has no effect without classify');
    return;
  }
  if (weights === undefined && weighed.length > 0) problem([...path, 'weights_for'], 'has no effect without weights');
  const known = document.classifiers.map(({ name }) => name);
  const entry = document.classifiers.find(({ name }) => name === classify);
  if (entry === undefined) {
    problem([...path, 'classify'], `there is no classifier "${classify}".${didYouMean(classify, known)}`);
    return;
  }
  // A model that cannot be read is told once, at the classifier.
  if (entry.model !== undefined && !models.has(entry.name)) return;
  const classes = [...classesOf(entry, models.get(entry.name))];
  for (const name of weighed)
    if (!classes.includes(name))
      problem([...path, 'weights_for', name], `"${classify}" knows no class "${name}".${didYouMean(name, classes)}`);
  const judged = models.get(entry.name)?.quality;
  if (judged === undefined || judged.size === 0) return;
  const targets = route.candidates.map(({ model }) => resolveAlias(document.aliases, model) ?? model);
  const strange = targets.find((model) => !judged.has(model));
  if (strange !== undefined && targets.some((model) => judged.has(model)))
    warn(
      [...path, 'candidates'],
      `"${strange}" has no quality in the model of "${classify}" and others have: its quality_for should say it, on the same scale`,
    );
}
