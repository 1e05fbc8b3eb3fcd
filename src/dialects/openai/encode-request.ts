import { BodyPieces } from '../../core/body-pieces.ts';
import type { ChatRequest, Endpoint } from '../../core/chat-request.ts';
import type { UpstreamRequest } from '../../core/dialect.ts';
import type { Deployment } from '../../core/snapshot.ts';
import { isObject } from '../../core/json.ts';
import { applyEdits, type Edit, editedPieces } from '../../lib/json-span/apply-edits.ts';
import { parseJson } from '../../lib/json-span/parse-json.ts';
import { objectSpan, vllmEdits } from './vllm-fields.ts';

const PATHS: Readonly<Record<Endpoint, string>> = {
  chat: '/chat/completions',
  completions: '/completions',
  embeddings: '/embeddings',
};
const DEFAULT_BASE = '/v1';
/** Bytes from which a body is not copied for its edits. */
const LARGE = 16 * 1024;
const FALSE = Buffer.from('false');
const TRUE = Buffer.from('true');
const INCLUDE_USAGE = Buffer.from('{"include_usage":true}');

/**
 * The client's bytes with the model's name at the backend, and with usage asked for on streams. All else passes as it came:
 * unknown fields at every depth, digits of numbers, order of keys, null and absent.
 */
export function encodeRequest(request: ChatRequest, deployment: Deployment): UpstreamRequest {
  const { backend, upstreamModel } = deployment;
  const edits: Edit[] = [];
  if (request.model !== upstreamModel)
    edits.push(setMember(request, 'model', Buffer.from(JSON.stringify(upstreamModel))));
  if (request.endpoint !== 'embeddings') edits.push(...(request.stream ? usageEdits(request) : wholeEdits(request)));
  edits.push(...vllmEdits(request, backend));
  return {
    path: `${backend.basePath === '' ? DEFAULT_BASE : ''}${PATHS[request.endpoint]}`,
    headers: [
      ['content-type', 'application/json'],
      ['accept', request.stream ? 'text/event-stream' : 'application/json'],
      ['accept-encoding', 'identity'],
    ],
    body:
      request.raw.length < LARGE ? applyEdits(request.raw, edits) : new BodyPieces(editedPieces(request.raw, edits)),
  };
}

/** Streams are metered by the usage chunk; a client that did not ask does not get to see it. */
function usageEdits(request: ChatRequest): Edit[] {
  const options = request.json['stream_options'];
  if (isObject(options) && options['include_usage'] === true) return [];
  const span = request.spans.get('stream_options');
  if (!isObject(options) || span === undefined) return [setMember(request, 'stream_options', INCLUDE_USAGE)];
  const inner = request.raw.subarray(span.start, span.end);
  const { members } = parseJson(inner, { maxDepth: Number.MAX_SAFE_INTEGER, refuseDuplicates: false });
  const flag = members.get('include_usage');
  const edit: Edit =
    flag === undefined
      ? { kind: 'insert', object: { start: 0, end: inner.length }, key: 'include_usage', json: TRUE }
      : { kind: 'replace', span: flag, json: TRUE };
  return [{ kind: 'replace', span, json: applyEdits(inner, [edit]) }];
}

/** A client that wants a stream gets one made of a whole answer, when that is all that we ask for. */
function wholeEdits(request: ChatRequest): Edit[] {
  if (request.json['stream'] !== true) return [];
  const options = request.spans.get('stream_options');
  return [
    setMember(request, 'stream', FALSE),
    ...(options === undefined ? [] : [{ kind: 'remove' as const, span: options }]),
  ];
}

function setMember(request: ChatRequest, key: string, json: Buffer): Edit {
  const span = request.spans.get(key);
  return span === undefined
    ? { kind: 'insert', object: objectSpan(request), key, json }
    : { kind: 'replace', span, json };
}
