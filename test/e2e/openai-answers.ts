import type { ScriptChunk, UpstreamScript } from '../support/upstream-script.ts';

/** What an upstream of OpenAI's kind says, as scripts. A word is a token. */
export interface StreamShape {
  /** Content chunks before the end. Default: 5. */
  readonly words?: number;
  /** A chunk with the usage before `[DONE]`. Default: true. */
  readonly usage?: boolean;
  /** Default: true. */
  readonly done?: boolean;
  /** A pause before each word, in milliseconds. */
  readonly paceMs?: number;
  /** Stops after the words: no finish reason, usage or `[DONE]`; these steps instead. */
  readonly thenInstead?: readonly ScriptChunk[];
}

export const PROMPT_TOKENS = 7;

/** One event of a stream. */
export function event(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

/** A chunk of a chat. */
export function chunk(delta: object, finishReason: string | null = null, extra: object = {}): string {
  const choices = [{ index: 0, delta, finish_reason: finishReason }];
  return event({ ...FRAME, choices, ...extra });
}

/** A stream of words, its usage and its end. */
export function streamAnswer(shape: StreamShape = {}): UpstreamScript {
  const { words = 5, usage = true, done = true, paceMs = 0, thenInstead } = shape;
  const pause: readonly ScriptChunk[] = paceMs > 0 ? [{ delay_ms: paceMs }] : [];
  const said = Array.from({ length: words }, (_, at): readonly ScriptChunk[] => [
    ...pause,
    chunk({ content: `${at === 0 ? '' : ' '}w${at + 1}` }),
  ]).flat();
  const end: readonly ScriptChunk[] = [
    chunk({}, 'stop'),
    ...(usage ? [event({ ...FRAME, choices: [], usage: usageOf(words) })] : []),
    ...(done ? ['data: [DONE]\n\n'] : []),
  ];
  return {
    status: 200,
    headers: { 'content-type': 'text/event-stream' },
    chunks: [chunk({ role: 'assistant', content: '' }), ...said, ...(thenInstead ?? end)],
  };
}

/** A whole answer of so many words. */
export function wholeAnswer(words = 5): UpstreamScript {
  return {
    status: 200,
    headers: { 'content-type': 'application/json' },
    chunks: [JSON.stringify(chatCompletion(words))],
  };
}

/** The object of a whole answer. */
export function chatCompletion(words: number, content = textOf(words)): Record<string, unknown> {
  return {
    id: FRAME.id,
    object: 'chat.completion',
    created: FRAME.created,
    model: FRAME.model,
    choices: [{ index: 0, message: { role: 'assistant', content, refusal: null }, finish_reason: 'stop' }],
    usage: usageOf(words),
  };
}

/** An error with OpenAI's body. */
export function errorAnswer(status: number, headers: Readonly<Record<string, string>> = {}): UpstreamScript {
  const error = { message: `upstream says ${status}`, type: 'server_error', param: null, code: null };
  return {
    status,
    headers: { 'content-type': 'application/json', ...headers },
    chunks: [JSON.stringify({ error })],
  };
}

export function usageOf(words: number): object {
  return { prompt_tokens: PROMPT_TOKENS, completion_tokens: words, total_tokens: PROMPT_TOKENS + words };
}

/** `w1 w2 …` */
export function textOf(words: number): string {
  return Array.from({ length: words }, (_, at) => `w${at + 1}`).join(' ');
}

const FRAME = {
  id: 'chatcmpl-mock',
  object: 'chat.completion.chunk',
  created: 1_700_000_000,
  model: 'upstream-name',
};
