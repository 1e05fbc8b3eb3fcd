import type { Attempt } from '../client/docs-app.ts';
import type { Answer, Trouble } from '../docs/answer.ts';
import type { Operation } from '../docs/document.ts';
import { h, listening } from '../markup/node.ts';
import type { Child, UiElement } from '../markup/node.ts';
import { badge } from '../parts/card.ts';

interface AnswerActions {
  readonly edit: (field: string, value: string) => void;
  readonly next: () => void;
}

/** What came back, or why nothing did; nothing before anything was sent. */
export function answerPart(operation: Operation, { answer, away }: Attempt, actions: AnswerActions): Child {
  if (away !== null) return h('section', { 'aria-labelledby': 'answer' }, head('No answer'), trouble(away));
  if (answer === null) return null;
  const { status, ms, headers } = answer;
  const level = status < 300 ? 'good' : status < 500 ? 'warn' : 'bad';
  return h(
    'section',
    { class: 'answer', 'aria-labelledby': 'answer' },
    head('Answer'),
    h('p', { class: 'outcome' }, badge(level, `HTTP ${status}`), h('span', { class: 'quiet' }, timeOf(ms))),
    answer.trouble === null ? null : trouble(answer.trouble),
    status === 412 ? takeVersion(answer, actions) : null,
    answer.secret === null ? null : secret(answer.secret),
    h(
      'dl',
      { class: 'headers' },
      headers.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, h('code', {}, value)))),
    ),
    body(answer),
    answer.cursor !== null && operation.parameters.some(({ name }) => name === 'cursor')
      ? listening(h('button', { type: 'button' }, 'Next page'), { click: actions.next })
      : null,
  );
}

const head = (text: string): UiElement => h('h3', { id: 'answer', tabindex: '-1' }, text);
const timeOf = (ms: number): string => (ms < 1000 ? `in ${Math.round(ms)} ms` : `in ${(ms / 1000).toFixed(1)} s`);

function trouble({ what, message, field, advice, code }: Trouble): UiElement {
  return h(
    'div',
    { class: 'notice notice-fault' },
    h('p', { class: 'what' }, what),
    message === '' ? null : h('p', {}, field === null ? null : [h('code', {}, field), ': '], message),
    advice === '' ? null : h('p', {}, advice),
    code === null ? null : h('p', { class: 'hint' }, 'Code: ', h('code', {}, code)),
  );
}

function takeVersion({ etag }: Answer, { edit }: AnswerActions): Child {
  if (etag === null) return null;
  return h(
    'p',
    { class: 'controls' },
    h('span', {}, 'The version now is ', h('code', {}, etag), '.'),
    listening(h('button', { type: 'button' }, 'Use it'), { click: () => edit('If-Match', etag) }),
  );
}

const secret = (text: string): UiElement =>
  h(
    'div',
    { id: 'secret', class: 'notice notice-fault' },
    h('p', { class: 'what' }, 'This secret is told once. Copy it now.'),
    h('p', {}, h('code', { class: 'secret' }, text)),
    h('p', {}, 'It leaves this page with the next request, or when you look at another operation.'),
  );

function body({ body: text, kind, cut }: Answer): Child {
  if (text === '') return h('p', { class: 'none' }, 'The answer has no body.');
  const name = { json: 'Body, JSON', csv: 'Body, CSV', text: 'Body' }[kind];
  return [
    h('pre', { id: 'answer-body', class: 'body', tabindex: 0, role: 'group', 'aria-label': name }, text),
    cut ? h('p', { class: 'hint' }, 'The rest is left out here: it is longer than a page can show.') : null,
  ];
}
