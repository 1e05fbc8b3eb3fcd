import type { PageModel } from '../client/app.ts';
import { RANGES, VIEWS } from '../client/needs.ts';
import type { Choice, View } from '../client/needs.ts';
import { h, listening } from '../markup/node.ts';
import type { Child, UiElement } from '../markup/node.ts';
import { clockTime } from '../text/format.ts';
import { budgetsView } from './budgets-view.ts';
import { keysView } from './keys-view.ts';
import { limitsView } from './limits-view.ts';
import { liveView } from './live-view.ts';
import { modelsView } from './models-view.ts';
import { overviewView } from './overview-view.ts';
import { notice } from './part-view.ts';
import { signInForm } from './sign-in.ts';
import type { SignIn } from './sign-in.ts';
import { spendView } from './spend-view.ts';
import type { ViewModel } from './view-model.ts';

/** What can be done on the page. */
export interface Actions {
  readonly signIn: SignIn;
  readonly signOut: () => void;
  readonly choose: (change: Partial<Choice>) => void;
  readonly refresh: () => void;
}

export const TITLES: Readonly<Record<View, string>> = {
  overview: 'Overview',
  spend: 'Spending',
  budgets: 'Budgets',
  limits: 'Limits',
  live: 'Live requests',
  models: 'Models',
  keys: 'Keys',
};
const BODIES: Readonly<Record<View, (model: ViewModel) => Child>> = {
  overview: overviewView,
  spend: spendView,
  budgets: budgetsView,
  limits: limitsView,
  live: liveView,
  models: modelsView,
  keys: keysView,
};

/** The whole page. */
export function page(model: PageModel, actions: Actions): UiElement {
  const { view } = model;
  if (view === null) return welcome(model, actions);
  return h(
    'div',
    { id: 'app', class: 'shell' },
    sidebar(view, actions),
    h(
      'main',
      { id: 'content', class: model.problem === null ? 'view' : 'view old', tabindex: '-1' },
      h(
        'header',
        { class: 'view-head' },
        h('h1', { id: 'title', tabindex: '-1' }, TITLES[view.choice.view]),
        controls(view, actions, model.updatedAt),
      ),
      h('div', { id: 'trouble' }, trouble(model, actions)),
      h('div', { id: `view-${view.choice.view}`, class: 'view-body' }, BODIES[view.choice.view](view)),
    ),
  );
}

function welcome({ signIn }: PageModel, actions: Actions): UiElement {
  return h(
    'div',
    { id: 'app', class: 'welcome' },
    h(
      'main',
      { id: 'content', class: 'card', tabindex: '-1' },
      h('p', { class: 'brand' }, 'TokenLat'),
      h('h1', { id: 'title', tabindex: '-1' }, 'Sign in'),
      h(
        'p',
        { class: 'lead' },
        'Spending, budgets, limits and live requests of this gateway. With an admin token, to read only.',
      ),
      signInForm(signIn, actions.signIn),
    ),
  );
}

function sidebar({ choice, status }: ViewModel, { signOut }: Actions): UiElement {
  return h(
    'header',
    { class: 'side' },
    h('p', { class: 'brand' }, 'TokenLat'),
    h(
      'nav',
      { 'aria-label': 'Views' },
      h(
        'ul',
        {},
        VIEWS.map((name) =>
          h('li', {}, h('a', { href: `#/${name}`, 'aria-current': name === choice.view && 'page' }, TITLES[name])),
        ),
      ),
    ),
    h(
      'div',
      { class: 'caller' },
      h('p', {}, h('span', { class: 'quiet' }, 'Signed in as '), status.role),
      h(
        'p',
        {},
        h('span', { class: 'quiet' }, status.tenant === null ? 'For ' : 'For tenant '),
        h('bdi', {}, status.tenant ?? 'all tenants'),
      ),
      h('p', { class: 'quiet' }, `Version ${status.version}`),
      listening(h('button', { type: 'button', class: 'plain' }, 'Sign out'), { click: signOut }),
    ),
  );
}

const VALUE_OF = ({ target }: { readonly target: unknown }): string => (target as { readonly value: string }).value;

function controls(view: ViewModel, { choose, refresh }: Actions, updatedAt: number | null): UiElement {
  const { choice, status } = view;
  const byTenant = status.tenant === null && !['live', 'models'].includes(choice.view);
  return h(
    'div',
    { class: 'controls', role: 'group', 'aria-label': 'What is shown' },
    byTenant ? tenantChoice(view, choose) : null,
    choice.view === 'spend' ? rangeChoice(choice, choose) : null,
    listening(h('button', { type: 'button' }, 'Refresh'), { click: refresh }),
    updatedAt === null
      ? null
      : h('p', { class: 'fresh' }, `Updated ${clockTime(updatedAt, status.zone)}, ${status.zone}`),
  );
}

function tenantChoice(view: ViewModel, choose: Actions['choose']): UiElement {
  const { choice } = view;
  const first = choice.view === 'limits' ? 'Choose one' : 'All tenants';
  const options = tenantsOf(view).map((name) =>
    h('option', { value: `=${name}`, selected: name === choice.tenant }, name),
  );
  const select = h('select', {}, h('option', { value: '', selected: choice.tenant === null }, first), options);
  return h(
    'label',
    { id: 'tenant-choice' },
    h('span', {}, 'Tenant'),
    listening(select, { change: (event) => choose({ tenant: VALUE_OF(event).slice(1) || null }) }),
  );
}

/** Every tenant that was heard of: those of the configuration alone are in no list. */
function tenantsOf({ facts, choice }: ViewModel): readonly string[] {
  const names = new Set(facts.tenants.value?.rows.map(({ name }) => name));
  for (const { keys } of facts.spend.value?.rows ?? []) if (keys['tenant'] !== undefined) names.add(keys['tenant']);
  for (const { tenant } of facts.budgets.value?.rows ?? []) names.add(tenant);
  for (const { tenant } of facts.keys.value?.rows ?? []) names.add(tenant);
  if (choice.tenant !== null) names.add(choice.tenant);
  return [...names].toSorted();
}

function rangeChoice({ days: chosen }: Choice, choose: Actions['choose']): UiElement {
  const options = RANGES.map((days) => h('option', { value: days, selected: days === chosen }, `${days} days`));
  return h(
    'label',
    { id: 'range-choice' },
    h('span', {}, 'Range'),
    listening(h('select', {}, options), { change: (event) => choose({ days: Number(VALUE_OF(event)) }) }),
  );
}

/** Why figures are old, and what to do. */
function trouble({ problem, signedOut, signIn }: PageModel, actions: Actions): Child {
  if (signedOut)
    return h(
      'div',
      { class: 'notice notice-signed-out' },
      h('p', { class: 'what' }, 'You are signed out. What you see is old.'),
      signInForm(signIn, actions.signIn),
    );
  return problem === null ? null : [notice(problem), h('p', { class: 'unseen' }, 'The figures below are old.')];
}
