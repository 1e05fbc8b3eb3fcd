import { isObject, type Json, type JsonObject } from '../../core/json.ts';
import { findSpan } from '../../lib/json-span/find-span.ts';
import { ChunkTemplate, type Hole } from './chunk-template.ts';
import { readChoices, TEXT_MEMBERS } from './read-output.ts';

type Path = readonly (string | number)[];

interface Way {
  readonly kind: Hole['kind'];
  readonly path: Path;
}

/** The template of a chunk whose variables are one text of one choice and counts; null for a chunk of any other kind. */
export function learnTemplate(data: Buffer, shown: Buffer, json: JsonObject): ChunkTemplate | null {
  const path = textPath(json);
  if (path === null) return null;
  const ways: Way[] = [{ kind: 'text', path }];
  // A string of random length that OpenAI pads its chunks with.
  if (typeof json['obfuscation'] === 'string') ways.push({ kind: 'padding', path: ['obfuscation'] });
  const usage = isObject(json['usage']) ? json['usage'] : null;
  for (const [name, value] of Object.entries(usage ?? {})) {
    if (typeof value === 'number') ways.push({ kind: 'count', path: ['usage', name] });
  }
  const holes = holesOf(data, ways);
  const shownHoles = shown === data ? null : holesOf(shown, ways);
  if (holes === null || (shown !== data && shownHoles === null)) return null;
  return new ChunkTemplate({
    text: data,
    holes,
    shown: shownHoles === null ? null : { text: shown, holes: shownHoles },
    choice: readChoices(json)[0]?.index ?? 0,
    tool: path.includes('tool_calls'),
    usage,
  });
}

/** Where the one text stands; null when there is none, more than one, or anything that must be read each time. */
function textPath(json: JsonObject): Path | null {
  const choices = json['choices'];
  const usage = json['usage'] ?? null;
  if ((usage !== null && !isObject(usage)) || !Array.isArray(choices) || choices.length !== 1) return null;
  const choice: Json = choices[0];
  // Without an index the place counts, which is 0 for the only one.
  if (!isObject(choice)) return null;
  if ((choice['finish_reason'] ?? null) !== null || (choice['logprobs'] ?? null) !== null) return null;
  const found: Path[] = [];
  if (isText(choice['text'])) found.push(['choices', 0, 'text']);
  const delta = choice['delta'];
  if (isObject(delta)) {
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
  if (!isObject(call) || (call['id'] ?? '') !== '' || !isObject(call['function'])) return false;
  return (call['function']['name'] ?? '') === '' && isText(call['function']['arguments']);
}

/** In the order of the text. */
function holesOf(data: Buffer, ways: readonly Way[]): Hole[] | null {
  const holes: Hole[] = [];
  for (const { kind, path } of ways) {
    const span = findSpan(data, path);
    if (span === null) return null;
    holes.push({ kind, span, name: String(path.at(-1)) });
  }
  return holes.toSorted((one, other) => one.span.start - other.span.start);
}
