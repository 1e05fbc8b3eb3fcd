import type { Json } from '../../core/json.ts';
import { findSpan } from '../../lib/json-span/find-span.ts';
import type { ByteSpan } from '../../lib/json-span/scan-json.ts';
import { ChunkTemplate } from './chunk-template.ts';
import { isRecord } from './is-record.ts';
import { TEXT_MEMBERS } from './read-output.ts';

type JsonObject = { readonly [key: string]: Json };
type Path = readonly (string | number)[];

/** A string of random length that OpenAI pads its chunks with. */
const PADDING: Path = ['obfuscation'];

/** The template of a chunk whose only variable is one text of one choice; null for a chunk of any other kind. */
export function learnTemplate(data: Buffer, shown: Buffer, json: JsonObject): ChunkTemplate | null {
  const path = textPath(json);
  if (path === null) return null;
  const paths = typeof json['obfuscation'] === 'string' ? [path, PADDING] : [path];
  const holes = holesOf(data, paths);
  const shownHoles = shown === data ? null : holesOf(shown, paths);
  if (holes === null || (shown !== data && shownHoles === null)) return null;
  const seen = shownHoles === null ? null : { text: shown, holes: shownHoles };
  return new ChunkTemplate(data, holes, seen, path.includes('tool_calls'));
}

/** Where the one text stands; null when there is none, more than one, or anything that must be read each time. */
function textPath(json: JsonObject): Path | null {
  const choices = json['choices'];
  if ((json['usage'] ?? null) !== null || !Array.isArray(choices) || choices.length !== 1) return null;
  const choice: Json = choices[0];
  // Without an index the place counts, which is 0 for the only one.
  if (!isRecord(choice)) return null;
  if ((choice['finish_reason'] ?? null) !== null || (choice['logprobs'] ?? null) !== null) return null;
  const found: Path[] = [];
  if (isText(choice['text'])) found.push(['choices', 0, 'text']);
  const delta = choice['delta'];
  if (isRecord(delta)) {
    for (const member of TEXT_MEMBERS) if (isText(delta[member])) found.push(['choices', 0, 'delta', member]);
    if ((delta['function_call'] ?? null) !== null) return null;
    const calls = delta['tool_calls'];
    if (Array.isArray(calls) && calls.length > 0) {
      if (calls.length > 1 || !isMiddleOfCall(calls[0])) return null;
      found.push(['choices', 0, 'delta', 'tool_calls', 0, 'function', 'arguments']);
    }
  }
  return found.length === 1 ? (found[0] ?? null) : null;
}

function isText(value: Json | undefined): boolean {
  return typeof value === 'string' && value !== '';
}

/** A fragment that only adds to the arguments of a call that is open. */
function isMiddleOfCall(call: Json | undefined): boolean {
  if (!isRecord(call) || (call['id'] ?? '') !== '' || !isRecord(call['function'])) return false;
  return (call['function']['name'] ?? '') === '' && isText(call['function']['arguments']);
}

/** In the order of the text, text hole first: with the padding in front nothing is learnt. */
function holesOf(data: Buffer, paths: readonly Path[]): ByteSpan[] | null {
  const holes: ByteSpan[] = [];
  for (const path of paths) {
    const span = findSpan(data, path);
    if (span === null || span.start < (holes.at(-1)?.end ?? 0)) return null;
    holes.push(span);
  }
  return holes;
}
