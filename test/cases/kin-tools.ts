import { answer, chat, chunk, DONE, is, json, type Kin, kin, OK, sse, streamed } from './kin.ts';

function call(index: number | null, id: string | null | undefined, name: string | null, args?: string): object {
  const place = index === null ? {} : { index };
  const called = { ...(name === null ? {} : { name }), ...(args === undefined ? {} : { arguments: args }) };
  return { tool_calls: [{ ...place, ...(id === undefined ? {} : { id }), type: 'function', function: called }] };
}

const CALLED = [chunk({}, 'tool_calls'), DONE];
const args = (index: number, value: string) => is(`client.assembled.tool_calls[${index}].arguments`, 'eq', value);
const calls = (count: number) => is('client.assembled.tool_calls.length', 'eq', count);

/** Tool calls as backends write them. */
export const TOOL_KIN: readonly Kin[] = [
  kin(
    'empty ids and names later',
    streamed(),
    sse(chunk(call(0, 'a', 'f', '')), chunk(call(0, '', '', '{"a":')), chunk(call(0, null, null, '1}')), ...CALLED),
    [OK, calls(1), args(0, '{"a":1}')],
  ),
  kin(
    'the same id again and again',
    streamed(),
    sse(chunk(call(0, 'a', 'f', '{"a":')), chunk(call(0, 'a', null, '1}')), ...CALLED),
    [OK, calls(1), args(0, '{"a":1}')],
  ),
  kin('no arguments', streamed(), sse(chunk(call(0, 'a', 'f', '')), ...CALLED), [OK, args(0, '{}')]),
  kin('no arguments at all', streamed(), sse(chunk(call(0, 'a', 'f')), ...CALLED), [OK, args(0, '{}')]),
  kin(
    'no arguments, then another call',
    streamed(),
    sse(chunk(call(0, 'a', 'f', '')), chunk(call(1, 'b', 'g', '{"x":1}')), ...CALLED),
    [OK, args(0, '{}'), args(1, '{"x":1}')],
  ),
  kin(
    'never an index',
    streamed(),
    sse(
      chunk(call(null, 'a', 'f', '{"a":')),
      chunk(call(null, undefined, null, '1}')),
      chunk(call(null, 'b', 'g', '{"b":')),
      chunk(call(null, undefined, null, '2}')),
      ...CALLED,
    ),
    [OK, calls(2), args(0, '{"a":1}'), args(1, '{"b":2}')],
  ),
  kin(
    'no arguments in a whole answer',
    chat(),
    json(
      answer(
        {},
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '' } }],
        },
      ),
    ),
    [OK, is('client.body.choices[0].message.tool_calls[0].function.arguments', 'eq', '{}')],
  ),
  kin(
    'digits beside a name that changes',
    chat(),
    json(answer({ model: 'x' }).replace('"finish_reason"', '"extra":12345678901234567890,"finish_reason"')),
    [OK, is('client.raw', 'contains', '12345678901234567890'), is('client.body.model', 'eq', 'gpt-test')],
  ),
];
