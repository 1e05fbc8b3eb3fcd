import type { DocsModel } from '../client/docs-app.ts';
import type { Operation } from '../docs/document.ts';
import { h, listening } from '../markup/node.ts';
import type { UiElement } from '../markup/node.ts';
import { reference } from './docs-reference.ts';
import { tryIt, valueOf } from './docs-try.ts';
import type { TryActions } from './docs-try.ts';
import { method, prose } from './docs-words.ts';
import { signInForm } from './sign-in.ts';
import type { SignIn } from './sign-in.ts';

/** What can be done on the page. */
export interface DocsActions extends TryActions {
  readonly signIn: SignIn;
  readonly signOut: () => void;
  readonly search: (words: string) => void;
}

const GROUPS: Readonly<Record<string, string>> = {
  key: 'Keys',
  tenant: 'Tenants',
  line: 'Business lines',
  budget: 'Budgets',
  spend: 'Spending',
  quota: 'Quotas',
  audit: 'Audit',
  config: 'Configuration',
  request: 'Requests',
  routing: 'Routing',
  status: 'Status',
  live: 'Live requests',
};

/** The page's name, as its tab shows it. */
export const titleOf = ({ chosen, document }: DocsModel): string =>
  chosen === null ? document.info.title : `${chosen.operation.summary} \u2013 ${document.info.title}`;

/** The API page. */
export function docsPage(model: DocsModel, actions: DocsActions): UiElement {
  return h(
    'div',
    { id: 'app', class: 'shell docs-shell' },
    sidebar(model, actions),
    h(
      'main',
      { id: 'content', class: 'view', tabindex: '-1' },
      model.chosen === null ? start(model, actions) : chosenOne(model, model.chosen, actions),
    ),
  );
}

function sidebar(model: DocsModel, actions: DocsActions): UiElement {
  const { found, operations, words, caller, chosen } = model;
  return h(
    'header',
    { class: 'side' },
    h('p', { class: 'brand' }, h('a', { href: '#start' }, 'TokenLat admin API')),
    h(
      'search',
      {},
      h('label', { for: 'search', class: 'unseen' }, 'Search operations'),
      listening(
        h('input', {
          id: 'search',
          type: 'search',
          placeholder: 'Search operations',
          value: words,
          autocomplete: 'off',
          spellcheck: 'false',
        }),
        { input: (event) => actions.search(valueOf(event)) },
      ),
      h(
        'p',
        { class: 'hint', role: 'status' },
        words.trim() === '' ? `${operations.length} operations` : `${found.length} of ${operations.length} operations`,
      ),
    ),
    h(
      'nav',
      { 'aria-label': 'Operations', tabindex: 0 },
      groupsOf(found).map(([group, members]) =>
        h(
          'section',
          { id: `group-${group}` },
          h('h2', { class: 'nav-group' }, GROUPS[group] ?? group),
          h(
            'ul',
            {},
            members.map((each) => navItem(each, each === chosen?.operation)),
          ),
        ),
      ),
    ),
    caller === null
      ? h('div', { class: 'caller' }, h('p', { class: 'quiet' }, 'Not signed in'))
      : h(
          'div',
          { class: 'caller' },
          h('p', {}, h('span', { class: 'quiet' }, 'Signed in as '), caller.role),
          h(
            'p',
            {},
            h('span', { class: 'quiet' }, caller.tenant === null ? 'For ' : 'For tenant '),
            h('bdi', {}, caller.tenant ?? 'all tenants'),
          ),
          listening(h('button', { type: 'button' }, 'Sign out'), { click: actions.signOut }),
        ),
  );
}

const navItem = (operation: Operation, current: boolean): UiElement =>
  h(
    'li',
    {},
    h(
      'a',
      { href: `#${operation.name}`, 'aria-current': current && 'page' },
      method(operation),
      h('span', { class: 'nav-name' }, operation.summary),
    ),
  );

function groupsOf(operations: readonly Operation[]): readonly (readonly [string, readonly Operation[]])[] {
  const groups = new Map<string, Operation[]>();
  for (const each of operations) groups.set(each.group, [...(groups.get(each.group) ?? []), each]);
  return [...groups];
}

function start({ document, found, caller, signIn }: DocsModel, actions: DocsActions): UiElement {
  return h(
    'div',
    { id: 'start-view' },
    h('header', { class: 'view-head' }, h('h1', { id: 'title', tabindex: '-1' }, document.info.title)),
    h('p', { class: 'lead' }, prose(document.info.description)),
    h('p', { class: 'links' }, h('a', { href: 'openapi.json' }, 'OpenAPI 3.1 document')),
    caller === null
      ? h(
          'section',
          { class: 'card', 'aria-labelledby': 'sign-in-head' },
          h('div', { class: 'card-head' }, h('h2', { id: 'sign-in-head' }, 'Sign in to try it')),
          signInForm(signIn, actions.signIn),
        )
      : null,
    groupsOf(found).map(([group, members]) =>
      h(
        'section',
        { id: `all-${group}`, class: 'card listing', 'aria-labelledby': `all-${group}-head` },
        h('div', { class: 'card-head' }, h('h2', { id: `all-${group}-head` }, GROUPS[group] ?? group)),
        h(
          'ul',
          {},
          members.map((each) =>
            h(
              'li',
              {},
              method(each),
              h('span', { class: 'listed' }, h('a', { href: `#${each.name}` }, each.summary), h('code', {}, each.path)),
            ),
          ),
        ),
      ),
    ),
    found.length === 0 ? h('p', { class: 'none' }, 'No operation has these words.') : null,
  );
}

function chosenOne(
  { document, signIn, caller }: DocsModel,
  chosen: NonNullable<DocsModel['chosen']>,
  actions: DocsActions,
): UiElement {
  const { operation } = chosen;
  return h(
    'article',
    { id: `op-${operation.name}` },
    h('header', { class: 'view-head' }, h('h1', { id: 'title', tabindex: '-1' }, operation.summary)),
    h('p', { class: 'address' }, method(operation), h('code', {}, operation.path)),
    h('p', { class: 'lead' }, prose(operation.description)),
    h(
      'div',
      { class: 'docs-columns' },
      h('div', { class: 'reference' }, reference(operation, document)),
      h(
        'section',
        { class: 'card trying', 'aria-labelledby': 'try-head' },
        h('div', { class: 'card-head' }, h('h2', { id: 'try-head' }, 'Try it')),
        caller === null
          ? [
              h('p', { class: 'hint' }, 'Sign in first. The token stays in this page.'),
              signInForm(signIn, actions.signIn),
            ]
          : null,
        tryIt(chosen, { document, caller }, actions),
      ),
    ),
  );
}
