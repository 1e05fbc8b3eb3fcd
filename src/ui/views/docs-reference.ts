import type { ApiDocument, Operation, Schema } from '../docs/document.ts';
import { fieldsOf, wordsOf } from '../docs/schema.ts';
import type { Field } from '../docs/schema.ts';
import { h } from '../markup/node.ts';
import type { Child, UiElement } from '../markup/node.ts';
import { card } from '../parts/card.ts';
import { dataTable } from '../parts/table.ts';
import { prose } from './docs-words.ts';

/** What an operation takes and answers. */
export function reference(operation: Operation, { components }: ApiDocument): readonly Child[] {
  const { parameters, body, replies } = operation;
  const done = replies.filter(({ status }) => status < 300);
  const refused = replies.filter(({ status }) => status >= 300);
  const rows = parameters.map(({ name, in: place, required, schema, description }) => {
    const words = wordsOf(schema, components.schemas);
    return { ...words, path: name, place, required, description: description ?? words.description };
  });
  return [
    rows.length === 0
      ? null
      : card(
          { id: 'parameters', title: 'Parameters' },
          fieldTable('Parameters', rows, [{ head: 'In', cell: ({ place }) => place }]),
        ),
    body === null
      ? null
      : card(
          { id: 'body', title: 'Body', note: 'application/json' },
          shape('Fields of the body', body, components, true),
        ),
    done.map(({ status, types, schema }) =>
      card(
        { id: `answer-${status}`, title: `Answer ${status}`, note: types.join(', ') },
        schema === null ? null : shape(`Fields of answer ${status}`, schema, components, false),
      ),
    ),
    card(
      { id: 'refusals', title: 'Refusals' },
      dataTable({
        caption: 'Refusals',
        hideCaption: true,
        columns: [
          { head: 'Status', cell: ({ status }) => String(status) },
          { head: 'Meaning', cell: ({ meaning }) => prose(meaning) },
        ],
        rows: refused,
      }),
    ),
  ];
}

/** `asked`: is it told what must be there? In an answer that is no news. */
function shape(caption: string, schema: Schema, { schemas }: ApiDocument['components'], asked: boolean): UiElement {
  const fields = fieldsOf(schema, schemas).map((field) => ({ ...field, required: asked && field.required }));
  if (fields.length > 0) return fieldTable(caption, fields, []);
  return h('p', { class: 'quiet' }, wordsOf(schema, schemas).type);
}

function fieldTable<R extends Field>(
  caption: string,
  rows: readonly R[],
  more: readonly { readonly head: string; readonly cell: (row: R) => Child }[],
): UiElement {
  return dataTable<R>({
    caption,
    hideCaption: true,
    columns: [
      {
        head: 'Name',
        cell: ({ path, required }) => [
          h('code', {}, path),
          required ? h('span', { class: 'needed' }, 'required') : null,
        ],
      },
      ...more,
      {
        head: 'Meaning',
        cell: ({ type, description, rules }) => [
          h('span', { class: 'type' }, type),
          description === '' ? null : h('p', {}, prose(description)),
          rules.length === 0 ? null : h('p', { class: 'rules' }, rules.join('; ')),
        ],
      },
    ],
    rows,
  });
}
