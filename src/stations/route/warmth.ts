import crypto from 'node:crypto';
import type { ChatRequest, TextPart } from '../../core/chat-request.ts';
import { oncePer } from '../../core/once-per.ts';
import type { Model } from '../../core/snapshot.ts';
import { NOTHING_WARM, type Warm } from '../../core/warm.ts';
import type { Warmth } from '../../routing/warm-keys.ts';
import type { RouteContext } from './match-inputs.ts';

/** What warmth is told by. */
export type WarmthContext = Pick<RouteContext, 'config' | 'head' | 'request'> & {
  readonly principal: Pick<RouteContext['principal'], 'tenant'>;
};

/** Bytes of a prompt that one key stands for, and about how many tokens these are. */
const BLOCK = 2048;
const TOKENS_A_BLOCK = 512;
/** So many blocks of a prompt are looked at: its first 64 thousand tokens. */
const MOST_BLOCKS = 128;
/** So much of the texts with which a conversation begins, each and together. */
const MOST_OF_A_TEXT = 4096;
const MOST_OF_ALL = 16_384;
const DIGEST = 32;
const KEY_BYTES = 6;

/** Keys that were made already; null = not yet. */
interface Made {
  session: readonly number[] | null;
  prefix: readonly number[] | null;
}

/**
 * By request, and nothing else: what such a map holds is kept until the next collection of everything, though its key is gone, so that a
 * value that leads back to the request would keep all of it.
 */
const known = new WeakMap<ChatRequest, Made>();

function madeFor(request: ChatRequest): Made {
  let made = known.get(request);
  if (made === undefined) known.set(request, (made = { session: null, prefix: null }));
  return made;
}

/** What a request may find warm, by the `affinity` of each model; made when it is first asked for. */
export function warmthOf({ config, head, principal, request }: WarmthContext): Warmth {
  const { models, aliases } = config;
  // A hard border: no key of one tenant is a key of another, whatever they write.
  const borderOf = (): readonly string[] => [principal.tenant, aliases.get(request.model) ?? request.model];
  const sessionKeys = (): readonly number[] =>
    (madeFor(request).session ??= sessionOf(borderOf(), head.headers.get('x-session-id') ?? '', request));
  const prefixKeys = (): readonly number[] => (madeFor(request).prefix ??= prefixOf(borderOf(), request));
  // What is embedded does not go on.
  const modeOf = (model: Model | undefined): Model['affinity'] => {
    const mode = model?.affinity ?? 'none';
    return request.endpoint === 'embeddings' && mode !== 'model' ? 'none' : mode;
  };
  return {
    warm(group): Warm {
      const model = models.get(group);
      const mode = modeOf(model);
      if (model === undefined || mode === 'none') return NOTHING_WARM;
      if (mode === 'model') return loadedModel(model);
      if (mode === 'session') return { keys: sessionKeys(), tokensAKey: 0 };
      return { keys: prefixKeys(), tokensAKey: TOKENS_A_BLOCK };
    },
    home(group) {
      const model = models.get(group);
      const mode = modeOf(model);
      if (model === undefined || mode === 'none') return null;
      // Workers that know nothing of each other load it at the same place.
      const keys = mode === 'model' ? loadedModel(model).keys : sessionKeys();
      return keys[0] ?? null;
    },
  };
}

/** A model is the same for all tenants. */
const loadedModel = oncePer(({ name }: Model): Warm => {
  const key = crypto.hash('sha256', JSON.stringify(['model', name]), 'buffer').readUIntBE(0, KEY_BYTES);
  return { keys: [key], tokensAKey: 0, mustLoad: true };
});

/** One key: of the session by its name, else of the texts with which the conversation begins; none where there are none. */
function sessionOf(border: readonly string[], name: string, request: ChatRequest): readonly number[] {
  const text = name === '' ? openingOf(request) : name;
  if (text === '') return [];
  const kind = name === '' ? 'opening' : 'session';
  const digest = crypto.hash('sha256', `${JSON.stringify([kind, ...border])}\n${text}`, 'buffer');
  return [digest.readUIntBE(0, KEY_BYTES)];
}

/** The conversation up to the first that the user said. */
function openingOf(request: ChatRequest): string {
  let opening = '';
  for (const part of request.texts) {
    if (isDefinition(part, request)) continue;
    opening += `${part.role}\n${part.text.slice(0, MOST_OF_A_TEXT)}\n`;
    if (part.role === 'user' || opening.length >= MOST_OF_ALL) break;
  }
  return opening;
}

/** A key for each whole block of the prompt, each of all that stands before its end. */
function prefixOf(border: readonly string[], request: ChatRequest): readonly number[] {
  const length = writePrompt(request);
  const keys: number[] = [];
  let last = crypto.hash('sha256', JSON.stringify(['prefix', ...border]), 'buffer');
  for (let start = 0; start + BLOCK <= length; start += BLOCK) {
    // In front of each block stands the digest of what is before it; the bytes that it takes the place of are in there.
    last.copy(scratch, start);
    last = crypto.hash('sha256', scratch.subarray(start, start + DIGEST + BLOCK), 'buffer');
    keys.push(last.readUIntBE(0, KEY_BYTES));
  }
  return keys;
}

/** As much of a prompt as is looked at; one at a time. */
const scratch = Buffer.alloc(DIGEST + MOST_BLOCKS * BLOCK);

/** Definitions stand first, as chat templates put them: what a turn adds comes last. Returns how many bytes it has. */
function writePrompt(request: ChatRequest): number {
  const { texts } = request;
  let end = DIGEST;
  for (const isFirst of [true, false])
    for (const part of texts) {
      if (isDefinition(part, request) !== isFirst) continue;
      end += scratch.write(part.role, end);
      end += scratch.write('\n', end);
      end += scratch.write(part.text, end);
      end += scratch.write('\n', end);
    }
  return end - DIGEST;
}

const isDefinition = ({ param }: TextPart, { endpoint }: ChatRequest): boolean =>
  endpoint === 'chat' && !param.startsWith('messages[');
