/**
 * One step of a scripted body: text as UTF-8; bytes as base64; a pause; a text repeated and cut into pieces; a reset or an
 * orderly close of the connection there and then; a mark whose time is kept; silence until the client leaves.
 */
export type ScriptChunk =
  | string
  | { readonly base64: string }
  | { readonly delay_ms: number }
  | { readonly repeat: readonly [text: string, times: number]; readonly split_every?: number }
  | { readonly abort: true }
  | { readonly close: true }
  | { readonly mark: string }
  | { readonly hang: true };

/**
 * What the mock answers. `framing` defaults to what the headers say, else to `content-length` for a body that is no event
 * stream and has no abort or close in it, else to chunked with one HTTP chunk for each piece.
 */
export type UpstreamScript =
  | {
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>> | readonly (readonly [name: string, value: string])[];
      readonly chunks?: readonly ScriptChunk[];
      readonly framing?: 'length' | 'chunked' | 'close';
    }
  /** Closes the connection when the request is here; `fin` (also `true`) in order, `rst` by reset. */
  | { readonly close_after_request: 'fin' | 'rst' | true }
  /** Never an answer. */
  | { readonly hang: true };

/** What is done with a piece of a body. */
export type ScriptStep =
  | { readonly kind: 'send'; readonly bytes: Buffer }
  | { readonly kind: 'delay'; readonly ms: number }
  | { readonly kind: 'abort' | 'close' | 'hang' }
  | { readonly kind: 'mark'; readonly name: string };

/** The steps of a body. Throws on a form that is not known: a misspelt step must not pass for none. */
export function scriptSteps(chunks: readonly ScriptChunk[]): ScriptStep[] {
  return chunks.flatMap((chunk): ScriptStep[] => {
    if (typeof chunk === 'string') return [{ kind: 'send', bytes: Buffer.from(chunk) }];
    if ('base64' in chunk) return [{ kind: 'send', bytes: Buffer.from(chunk.base64, 'base64') }];
    if ('delay_ms' in chunk) return [{ kind: 'delay', ms: chunk.delay_ms }];
    if ('abort' in chunk) return [{ kind: 'abort' }];
    if ('close' in chunk) return [{ kind: 'close' }];
    if ('hang' in chunk) return [{ kind: 'hang' }];
    if ('mark' in chunk) return [{ kind: 'mark', name: chunk.mark }];
    if ('repeat' in chunk) return repeated(chunk.repeat, chunk.split_every);
    throw new Error(`unknown step: ${JSON.stringify(chunk)}`);
  });
}

function repeated([text, times]: readonly [string, number], splitEvery: number | undefined): ScriptStep[] {
  const bytes = Buffer.from(text.repeat(times));
  const size = splitEvery ?? Math.max(1, bytes.length);
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => ({
    kind: 'send',
    bytes: bytes.subarray(at * size, (at + 1) * size),
  }));
}
