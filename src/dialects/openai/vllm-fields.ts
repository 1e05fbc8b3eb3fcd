import type { ChatRequest } from '../../core/chat-request.ts';
import { GatewayError } from '../../core/error.ts';
import type { Backend } from '../../core/snapshot.ts';
import type { Edit } from '../../lib/json-span/apply-edits.ts';

/** What vLLM took away in 0.12, and the member of `structured_outputs` that has its place. */
const GUIDED: readonly (readonly [field: string, member: string])[] = [
  ['guided_json', 'json'],
  ['guided_regex', 'regex'],
  ['guided_choice', 'choice'],
  ['guided_grammar', 'grammar'],
  ['guided_whitespace_pattern', 'whitespace_pattern'],
];
/** No counterpart: these were per-request choices of an engine that is now chosen at start. */
const GONE = ['guided_decoding_backend'] as const;

/**
 * vLLM from 0.12 on ignores the `guided_*` fields without a word and answers with unconstrained text. Sent to such a
 * server they become `structured_outputs`; older ones get them as they are. Throws `unsupported_parameter`.
 */
export function vllmEdits(request: ChatRequest, backend: Backend): Edit[] {
  if (!isNewVllm(backend)) return [];
  for (const field of GONE) if (asked(request, field)) throw unsupported(field);
  const edits: Edit[] = [];
  const members: Buffer[] = [];
  for (const [field, member] of GUIDED) {
    const span = request.spans.get(field);
    if (span === undefined) continue;
    edits.push({ kind: 'remove', span });
    if (!asked(request, field)) continue;
    if (asked(request, 'structured_outputs')) throw unsupported(field);
    members.push(
      Buffer.from(`${members.length > 0 ? ',' : ''}"${member}":`),
      request.raw.subarray(span.start, span.end),
    );
  }
  if (members.length === 0) return edits;
  const json = Buffer.concat([Buffer.from('{'), ...members, Buffer.from('}')]);
  const empty = request.spans.get('structured_outputs');
  if (empty !== undefined) return [...edits, { kind: 'replace', span: empty, json }];
  return [...edits, { kind: 'insert', object: objectSpan(request), key: 'structured_outputs', json }];
}

/** The body's object without white space around it. */
export function objectSpan(request: ChatRequest): { start: number; end: number } {
  return { start: request.raw.indexOf(0x7b), end: request.raw.lastIndexOf(0x7d) + 1 };
}

function isNewVllm({ options }: Backend): boolean {
  const version = options['version'];
  if (version === undefined) return options['server'] === 'vllm';
  const [major = 0, minor = 0] = String(version).split('.').map(Number);
  return major > 0 || minor >= 12;
}

function asked(request: ChatRequest, field: string): boolean {
  return Object.hasOwn(request.json, field) && request.json[field] !== null;
}

function unsupported(field: string): GatewayError {
  return new GatewayError('unsupported_parameter', `The model's server does not know \`${field}\` any more.`, {
    param: field,
  });
}
