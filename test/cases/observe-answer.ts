import { readEvents, type StreamEvent } from './event-stream.ts';
import type { RawAnswer } from './send-request.ts';
import { ABSENT, headersView, MISSING, named, type View } from './view.ts';

interface Delta {
  readonly content?: unknown;
  readonly tool_calls?: readonly {
    readonly index?: number;
    readonly id?: string;
    readonly function?: { readonly name?: string; readonly arguments?: string };
  }[];
}

interface Chunk {
  readonly choices?:
    | readonly { readonly index?: number; readonly delta?: Delta; readonly finish_reason?: unknown }[]
    | null;
  readonly usage?: unknown;
}

/** A tool call as an index-keyed client puts it together. */
class ToolCall {
  id = '';
  name = '';
  arguments = '';
}

interface Choice {
  content: string;
  finish_reason: unknown;
  tool_calls: ToolCall[];
}

/** What a client makes of an answer. */
export function answerView(answer: RawAnswer): View {
  const raw = Buffer.concat(answer.pieces.map(({ bytes }) => bytes)).toString('utf8');
  const events = (): readonly StreamEvent[] => readEvents(answer.pieces);
  return named('client', {
    status: () => answer.status,
    headers: () => headersView(answer.headers),
    raw: () => raw,
    body: () => parsed(raw),
    sse: () => streamView(events()),
    assembled: () => assembledView(jsonOf(events())),
    interim: () => answer.interim.map(({ status }) => status),
    interim_ms: () => (answer.interim[0] === undefined ? MISSING : answer.interim[0].at - answer.sentAt),
    elapsed_ms: () => answer.endedAt - answer.sentAt,
    first_byte_of_event_ms: () => events().map(({ at }) => at),
  });
}

function streamView(events: readonly StreamEvent[]): View {
  const json = jsonOf(events);
  const invalid = events.filter(
    ({ data }) => data !== null && data !== '' && data !== '[DONE]' && parsed(data) === ABSENT,
  );
  return named(
    'client.sse',
    {
      // Exactly one, and nothing behind it.
      done: () => events.at(-1)?.data === '[DONE]' && events.filter(({ data }) => data === '[DONE]').length === 1,
      count_json: () => json.length,
      events_with_invalid_json: () => invalid.length,
      events_with_empty_data: () => events.filter(({ data }) => data === '' || data === null).length,
      usage_chunks: () => json.filter((chunk) => typeof chunk.usage === 'object' && chunk.usage !== null).length,
    },
    json,
    { last_json: () => json.at(-1) ?? MISSING },
  );
}

function jsonOf(events: readonly StreamEvent[]): readonly Chunk[] {
  return events.flatMap(({ data }) => {
    const value = data === null || data === '' || data === '[DONE]' ? ABSENT : parsed(data);
    return value === ABSENT ? [] : [value as Chunk];
  });
}

/** Puts a stream together as clients do: choices and tool calls by their index. */
function assembledView(chunks: readonly Chunk[]): View {
  const choices = assemble(chunks);
  const [first] = choices;
  const calls = (first?.tool_calls ?? []).map((call) => toolCallView(call));
  return named('client.assembled', {
    choices: () => choices,
    content: () => first?.content ?? ABSENT,
    finish_reason: () => first?.finish_reason ?? ABSENT,
    all_text: () => choices.map(textOf).join('\n'),
    tool_calls: () => calls,
  });
}

function assemble(chunks: readonly Chunk[]): readonly Choice[] {
  const choices: Choice[] = [];
  for (const part of chunks.flatMap((chunk) => chunk.choices ?? [])) {
    const choice = (choices[part.index ?? 0] ??= { content: '', finish_reason: null, tool_calls: [] });
    if (typeof part.delta?.content === 'string') choice.content += part.delta.content;
    for (const { index = 0, id, function: called } of part.delta?.tool_calls ?? []) {
      const call = (choice.tool_calls[index] ??= new ToolCall());
      call.id = id ?? call.id;
      call.name += called?.name ?? '';
      call.arguments += called?.arguments ?? '';
    }
    choice.finish_reason = part.finish_reason ?? choice.finish_reason;
  }
  return choices;
}

/** The reports write `function.arguments` as well as `arguments`; compared is the short form. */
function toolCallView({ id, name, arguments: args }: ToolCall): object {
  return Object.defineProperty({ id, name, arguments: args }, 'function', { value: { name, arguments: args } });
}

function textOf({ content, tool_calls: calls }: Choice): string {
  return [content, ...calls.map((call) => call.arguments)].join('\n');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return ABSENT;
  }
}
