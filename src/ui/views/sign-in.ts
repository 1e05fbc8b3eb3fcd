import type { PageModel } from '../client/app.ts';
import { h, listening } from '../markup/node.ts';
import type { UiElement } from '../markup/node.ts';

/** Takes what was typed. */
export type SignIn = (token: string, remember: boolean) => void;

interface Form {
  readonly elements: { readonly namedItem: (name: string) => unknown };
}

/** Asks for a token. It goes nowhere but to this server, and into no cookie. */
export function signInForm({ problem, busy }: PageModel['signIn'], signIn: SignIn): UiElement {
  const form = h(
    'form',
    { class: 'sign-in', autocomplete: 'off', 'aria-label': 'Sign in' },
    h('label', { for: 'token' }, 'Admin token'),
    h('input', {
      id: 'token',
      name: 'token',
      type: 'password',
      required: true,
      autocomplete: 'off',
      autocapitalize: 'off',
      spellcheck: 'false',
      'aria-invalid': problem === null ? 'false' : 'true',
      'aria-describedby': 'token-help token-problem',
    }),
    h(
      'p',
      { id: 'token-help', class: 'hint' },
      'One of admin.tokens of the configuration, or a token of your identity provider.',
    ),
    h(
      'div',
      { id: 'token-problem', role: 'alert' },
      problem === null ? null : [h('p', { class: 'what' }, problem.what), h('p', {}, problem.advice)],
    ),
    h('label', { class: 'check' }, h('input', { name: 'remember', type: 'checkbox' }), 'Remember for this tab'),
    h(
      'button',
      { type: 'submit', class: 'main', 'aria-disabled': busy ? 'true' : 'false' },
      busy ? 'Signing in\u2026' : 'Sign in',
    ),
  );
  return listening(form, {
    submit: ({ target }) => {
      const { elements } = target as Form;
      const token = (elements.namedItem('token') as { readonly value: string }).value.trim();
      if (!busy) signIn(token, (elements.namedItem('remember') as { readonly checked: boolean }).checked);
    },
  });
}
