import type { Deployment, Routing } from '../data/wire.ts';
import { h } from '../markup/node.ts';
import type { Child, UiElement } from '../markup/node.ts';
import { badge, card } from '../parts/card.ts';
import { dataTable, named } from '../parts/table.ts';
import { count } from '../text/format.ts';
import { shown, staleMark } from './part-view.ts';
import type { ViewModel } from './view-model.ts';

type Row = Deployment & { readonly model: string; readonly stage: string; readonly fallback: readonly string[] };

/** Models, their deployments and how these are, and the routes that lead to them. */
export function modelsView({ facts, status }: ViewModel): Child {
  return shown(facts.routing, (routing) => [
    card(
      {
        id: 'deployments',
        title: 'Deployments',
        note: staleMark(facts.routing, status.zone) ?? 'state of the last 60 seconds',
        wide: true,
      },
      deploymentTable(routing),
    ),
    card({ id: 'routing', title: 'Routes', wide: true }, routeTable(routing)),
  ]);
}

export function stateBadge(state: string): UiElement {
  if (state === 'healthy') return badge('good', 'healthy');
  if (state === 'failing') return badge('bad', 'failing');
  return badge('idle', state === 'unknown' ? 'no traffic' : state);
}

/** Deployments that fail. */
export function failing({ models }: Routing): readonly Deployment[] {
  return models.flatMap(({ deployments }) => deployments.filter(({ state }) => state === 'failing'));
}

function deploymentTable({ models }: Routing): UiElement {
  const rows = models.flatMap(({ name, stage, fallback, deployments }) =>
    deployments.map((deployment): Row => ({ ...deployment, model: name, stage, fallback })),
  );
  return dataTable<Row>({
    caption: 'Deployments',
    hideCaption: true,
    rows,
    empty: 'There is no model.',
    columns: [
      { head: 'Model', cell: ({ model }) => named(model) },
      { head: 'State', cell: ({ state }) => stateBadge(state) },
      { head: 'Backend', cell: ({ backend }) => named(backend) },
      { head: 'Its name there', cell: ({ upstream_model }) => named(upstream_model) },
      { head: 'Weight', number: true, cell: ({ weight }) => count(weight) },
      { head: 'Running', number: true, cell: ({ running }) => (running === null ? '\u2013' : count(running)) },
      { head: 'Stage', cell: ({ stage }) => stage },
      { head: 'Fallback', cell: ({ fallback }) => (fallback.length === 0 ? '\u2013' : named(fallback.join(', '))) },
    ],
  });
}

function routeTable({ routes }: Routing): UiElement {
  return dataTable<Routing['routes'][number]>({
    caption: 'Routes',
    hideCaption: true,
    rows: routes,
    empty: 'There is no route: each model leads to its own deployments.',
    columns: [
      { head: 'Route', cell: ({ id }) => named(id) },
      { head: 'For', cell: ({ models }) => named(models.join(', ')) },
      { head: 'When', cell: ({ match }) => (match === null ? 'always' : h('code', {}, match)) },
      {
        head: 'Leads to',
        cell: ({ candidates }) =>
          named(
            candidates.map(({ model, weight, canary }) => `${model} (${weight}${canary ? ', canary' : ''})`).join(', '),
          ),
      },
      { head: 'Fallback', cell: ({ fallback }) => (fallback.length === 0 ? '\u2013' : named(fallback.join(', '))) },
    ],
  });
}
