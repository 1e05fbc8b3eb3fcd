import { GatewayError } from '../../core/error.ts';
import { isObject, type JsonObject, own } from '../../core/json.ts';
import { textOf } from './text-of.ts';
import { arrayText, JsonSource, type JsonText, objectText, valueText } from './json-text.ts';
import { callText } from './openai-json.ts';
import { invalidAnswer } from './upstream-error.ts';

/** A `delta` of a chunk, and the characters of output in it. */
export interface BlockDelta {
  readonly text: JsonText;
  readonly chars: number;
}

interface Call {
  readonly kind: 'call';
  /** The client's index: calls are counted apart from other blocks. */
  readonly index: number;
  /** Arguments that stood in the start already, as some servers do; shown when no pieces follow. */
  readonly early: string;
  hasArguments: boolean;
}

interface Thinking {
  readonly kind: 'thinking';
  readonly pieces: string[];
  signature: string;
}

type Block = Call | Thinking | { readonly kind: 'text' | 'redacted' | 'other' };

/** More than any answer has. */
const MAX_BLOCKS = 1024;

/** The open blocks of a streamed message, and what each event about them says to an OpenAI client. */
export class StreamBlocks {
  readonly #open = new Map<number, Block>();
  readonly #maxBytes: number;
  /** The last call, when it ended without arguments: `{}` only once it is known that it was not cut off. */
  #empty: Call | null = null;
  #blocks = 0;
  #kept = 0;
  #calls = 0;

  /** `maxBytes` bounds what is kept of blocks that are shown at their end. */
  constructor({ maxBytes }: { readonly maxBytes: number }) {
    this.#maxBytes = maxBytes;
  }

  /** Calls so far. */
  get calls(): number {
    return this.#calls;
  }

  /** `content_block_start`. `data` is the event's bytes. */
  start(event: JsonObject, data: Buffer): readonly BlockDelta[] {
    // The model went on: the call before was whole.
    const deltas = this.#settle();
    push(deltas, this.#start(event, data));
    return deltas;
  }

  #start(event: JsonObject, data: Buffer): BlockDelta | null {
    const block = own(event, 'content_block');
    if (!isObject(block)) throw invalidAnswer('The model service started a block without saying which.', data);
    this.#blocks += 1;
    if (this.#blocks > MAX_BLOCKS) throw invalidAnswer(`The model service sent more than ${MAX_BLOCKS} blocks.`);
    const at = indexOf(event);
    switch (textOf(block, 'type')) {
      case 'text':
        this.#open.set(at, { kind: 'text' });
        return textDelta('content', textOf(block, 'text'));
      case 'thinking':
        return this.#startThinking(at, block);
      case 'redacted_thinking': {
        this.#open.set(at, { kind: 'redacted' });
        const text = new JsonSource(data).members().get('content_block')?.text ?? valueText(block);
        return { text: objectText({ thinking_blocks: arrayText([text]) }), chars: 0 };
      }
      case 'tool_use':
        return this.#startCall(at, block, data);
      default:
        this.#open.set(at, { kind: 'other' });
        return null;
    }
  }

  /** `content_block_delta`. */
  delta(event: JsonObject): BlockDelta | null {
    const delta = own(event, 'delta');
    const block = this.#open.get(indexOf(event));
    if (!isObject(delta) || block === undefined) throw invalidAnswer('The model service went on with no block.');
    switch (textOf(delta, 'type')) {
      case 'text_delta':
        return block.kind === 'text' ? textDelta('content', textOf(delta, 'text')) : null;
      case 'thinking_delta': {
        if (block.kind !== 'thinking') return null;
        const thought = textOf(delta, 'thinking');
        block.pieces.push(this.#keep(thought));
        return textDelta('reasoning_content', thought);
      }
      case 'signature_delta':
        if (block.kind === 'thinking') block.signature += this.#keep(textOf(delta, 'signature'));
        return null;
      case 'input_json_delta': {
        const piece = textOf(delta, 'partial_json');
        return block.kind === 'call' ? argumentsDelta(block, piece) : null;
      }
      default:
        return null;
    }
  }

  /** `content_block_stop`. */
  stop(event: JsonObject): BlockDelta | null {
    const at = indexOf(event);
    const block = this.#open.get(at);
    this.#open.delete(at);
    if (block?.kind === 'thinking') return thinkingDelta(block);
    if (block?.kind !== 'call' || block.hasArguments) return null;
    if (block.early !== '') return argumentsDelta(block, block.early);
    this.#empty = block;
    return null;
  }

  /** The answer has ended. A call that got no arguments has none (`{}`), unless it was cut off before they came. */
  close(isCutShort: boolean): readonly BlockDelta[] {
    const deltas: BlockDelta[] = [];
    for (const block of this.#open.values()) {
      if (block.kind !== 'call' || block.hasArguments) continue;
      if (block.early !== '') push(deltas, argumentsDelta(block, block.early));
      else if (!isCutShort) push(deltas, argumentsDelta(block, '{}'));
    }
    this.#open.clear();
    return isCutShort ? deltas : [...this.#settle(), ...deltas];
  }

  #settle(): BlockDelta[] {
    const call = this.#empty;
    this.#empty = null;
    const delta = call === null ? null : argumentsDelta(call, '{}');
    return delta === null ? [] : [delta];
  }

  #startThinking(at: number, block: JsonObject): BlockDelta | null {
    const thought = textOf(block, 'thinking');
    const signature = this.#keep(textOf(block, 'signature'));
    this.#open.set(at, { kind: 'thinking', pieces: thought === '' ? [] : [this.#keep(thought)], signature });
    return textDelta('reasoning_content', thought);
  }

  #startCall(at: number, block: JsonObject, data: Buffer): BlockDelta {
    const input = own(block, 'input');
    const isEarly = isObject(input) && Object.keys(input).length > 0;
    const early = isEarly
      ? (new JsonSource(data).members().get('content_block')?.members().get('input')?.text ?? '')
      : '';
    const call: Call = { kind: 'call', index: this.#calls, early: this.#keep(early), hasArguments: false };
    this.#calls += 1;
    this.#open.set(at, call);
    const name = textOf(block, 'name');
    return {
      text: callsDelta(callText({ index: call.index, id: textOf(block, 'id'), name, arguments: '' })),
      chars: name.length,
    };
  }

  #keep(text: string): string {
    this.#kept += text.length;
    if (this.#kept <= this.#maxBytes) return text;
    throw new GatewayError('upstream_response_too_large', `The model thinks for more than ${this.#maxBytes} bytes.`);
  }
}

function textDelta(member: 'content' | 'reasoning_content', text: string): BlockDelta | null {
  return text === '' ? null : { text: objectText({ [member]: valueText(text) }), chars: text.length };
}

function argumentsDelta(call: Call, piece: string): BlockDelta | null {
  if (piece === '') return null;
  call.hasArguments = true;
  return { text: callsDelta(callText({ index: call.index, arguments: piece })), chars: piece.length };
}

function callsDelta(call: JsonText): JsonText {
  return objectText({ tool_calls: arrayText([call]) });
}

/** The whole block, which clients have to send back in the next round of tools; without a signature nobody would take it. */
function thinkingDelta({ pieces, signature }: Thinking): BlockDelta | null {
  if (signature === '') return null;
  const thinking = valueText(pieces.join(''));
  const block = objectText({ type: '"thinking"', thinking, signature: valueText(signature) });
  return { text: objectText({ thinking_blocks: arrayText([block]) }), chars: 0 };
}

function push(deltas: BlockDelta[], delta: BlockDelta | null): void {
  if (delta !== null) deltas.push(delta);
}

function indexOf(event: JsonObject): number {
  const index = own(event, 'index');
  return typeof index === 'number' ? index : 0;
}
