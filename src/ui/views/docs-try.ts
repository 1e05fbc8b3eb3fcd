import type { DocsModel } from '../client/docs-app.ts';
import type { ApiDocument, Operation, Parameter } from '../docs/document.ts';
import { TOKEN_VARIABLE } from '../docs/curl.ts';
import { wordsOf } from '../docs/schema.ts';
import { h, listening } from '../markup/node.ts';
import type { Child, UiElement } from '../markup/node.ts';
import { answerPart } from './docs-answer.ts';

export interface TryActions {
  readonly edit: (field: string, value: string) => void;
  readonly fillBody: (all: boolean) => void;
  readonly send: () => void;
  readonly back: () => void;
  readonly next: () => void;
}

type Chosen = NonNullable<DocsModel['chosen']>;

/** The value of the field that an event is about. */
export const valueOf = ({ target }: { readonly target: unknown }): string =>
  (target as { readonly value: string }).value;

/** The form of an operation, the line for a terminal, and what came back. */
export function tryIt(
  chosen: Chosen,
  { document, caller }: Pick<DocsModel, 'document' | 'caller'>,
  actions: TryActions,
): readonly Child[] {
  const { operation, attempt } = chosen;
  const form = h(
    'form',
    { id: 'try', class: 'try', autocomplete: 'off', novalidate: true, 'aria-labelledby': 'try-head' },
    operation.parameters.map((each) => parameterField(each, chosen, document, actions)),
    operation.body === null ? null : bodyField(chosen, actions),
    caller === null ? null : h('div', { id: 'sending' }, sending(chosen, caller, actions)),
  );
  return [
    listening(form, { submit: actions.send }),
    terminal(chosen.curl),
    h('div', { id: 'answer-place' }, answerPart(operation, attempt, actions)),
  ];
}

function parameterField(
  { name, in: place, required, schema, description }: Parameter,
  { form, attempt }: Chosen,
  document: ApiDocument,
  { edit }: TryActions,
): UiElement {
  const id = `field-${name}`;
  const fault = attempt.faults[name] ?? null;
  const value = form.values[name] ?? '';
  const { rules } = wordsOf(schema, document.components.schemas);
  const common = {
    id,
    'aria-required': required && 'true',
    'aria-invalid': fault === null ? 'false' : 'true',
    'aria-describedby': `${id}-help ${id}-fault`,
  };
  const choices = schema.type === 'boolean' ? ['true', 'false'] : schema.enum?.map(String);
  const field =
    choices === undefined
      ? listening(
          h('input', {
            ...common,
            type: 'text',
            value,
            autocapitalize: 'off',
            autocomplete: 'off',
            spellcheck: 'false',
          }),
          { input: (event) => edit(name, valueOf(event)) },
        )
      : listening(
          h(
            'select',
            common,
            ['', ...choices].map((each) =>
              h('option', { value: each, selected: each === value }, each === '' ? 'not sent' : each),
            ),
          ),
          { change: (event) => edit(name, valueOf(event)) },
        );
  return h(
    'div',
    { class: 'field' },
    h(
      'label',
      { for: id },
      h('code', {}, name),
      h('span', { class: 'quiet' }, ` ${place}${required ? ', required' : ''}`),
    ),
    field,
    h('p', { id: `${id}-help`, class: 'hint' }, HELP[name] ?? [description, ...rules].filter(Boolean).slice(0, 1)),
    h('p', { id: `${id}-fault`, class: 'fault' }, fault),
  );
}

const HELP: Readonly<Record<string, string>> = {
  'Idempotency-Key': 'Made for this write. The same key again does nothing again.',
  'If-Match': 'The last ETag that this page has seen of it. Read it to fill this in, or type * for whatever version.',
  cursor: 'Where the next page begins.',
};

function bodyField({ operation, attempt }: Chosen, { edit, fillBody }: TryActions): UiElement {
  const fault = attempt.faults['body'] ?? null;
  const lines = Math.min(16, Math.max(5, attempt.body.split('\n').length + 1));
  return h(
    'div',
    { class: 'field' },
    h('label', { for: 'field-body' }, h('code', {}, 'body'), h('span', { class: 'quiet' }, ' JSON, required')),
    listening(
      h('textarea', {
        id: 'field-body',
        rows: lines,
        value: attempt.body,
        spellcheck: 'false',
        autocomplete: 'off',
        'aria-required': 'true',
        'aria-invalid': fault === null ? 'false' : 'true',
        'aria-describedby': 'field-body-fault',
      }),
      { input: (event) => edit('body', valueOf(event)) },
    ),
    h('p', { id: 'field-body-fault', class: 'fault' }, fault),
    h(
      'div',
      { class: 'controls', role: 'group', 'aria-label': `Body of ${operation.summary}` },
      listening(h('button', { type: 'button' }, 'Required fields'), { click: () => fillBody(false) }),
      listening(h('button', { type: 'button' }, 'All fields'), { click: () => fillBody(true) }),
    ),
  );
}

function sending(
  { operation, attempt }: Chosen,
  caller: NonNullable<DocsModel['caller']>,
  { back }: TryActions,
): Child {
  const danger = operation.method === 'DELETE';
  const [look, verb] = danger ? ['delete', 'Delete'] : operation.write ? ['write', 'Write'] : ['read', 'Send'];
  if (attempt.step === 'sending') return h('p', { class: 'loading' }, 'Waiting for the answer\u2026');
  if (attempt.step === 'form')
    return [
      operation.write ? h('p', { class: `mark mark-${look}` }, markOf(operation)) : null,
      h('button', { id: 'send', type: 'submit', class: `main main-${look}` }, operation.write ? `${verb}\u2026` : verb),
    ];
  return h(
    'div',
    { class: `confirm confirm-${look}`, role: 'group', 'aria-labelledby': 'confirm-head' },
    h('p', { id: 'confirm-head', class: 'what' }, danger ? 'Delete this for good?' : 'Send this write?'),
    h(
      'p',
      {},
      h('code', {}, `${operation.method} ${operation.path}`),
      ` as ${caller.role}, for `,
      h('bdi', {}, caller.tenant ?? 'all tenants'),
      '. It takes effect at once and is in the audit.',
    ),
    h(
      'div',
      { class: 'controls' },
      h(
        'button',
        { id: 'confirm', type: 'submit', class: `main main-${look}` },
        danger ? 'Yes, delete it' : 'Yes, send it',
      ),
      listening(h('button', { type: 'button' }, 'Back'), { click: back }),
    ),
  );
}

const markOf = ({ method }: Operation): string =>
  method === 'DELETE' ? 'This deletes from the running gateway.' : 'This changes the running gateway.';

function terminal(curl: string | null): UiElement {
  return h(
    'section',
    { class: 'terminal', 'aria-labelledby': 'curl-head' },
    h('h3', { id: 'curl-head' }, 'In a terminal'),
    curl === null
      ? h('p', { class: 'hint' }, 'The line stands here as soon as what is needed is filled in.')
      : [
          h('pre', { id: 'curl', tabindex: 0, role: 'group', 'aria-label': 'curl' }, curl),
          h(
            'p',
            { class: 'hint' },
            'Put your token into ',
            h('code', {}, `$${TOKEN_VARIABLE}`),
            '. It is never part of the line.',
          ),
        ],
  );
}
