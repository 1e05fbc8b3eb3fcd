import { HpackError } from './hpack-error.ts';
import { CODE_LENGTHS } from './huffman-code.ts';

const EOS = 256;

/** States of the decoder are inner nodes of the code's tree; there are as many as symbols less one. */
const STATES = EOS;

/*
 * A step takes four bits. Its entry: the next state in the low 8 bits, a decoded byte in the next 8, then whether there is one,
 * and whether the bits spell EOS, which a text never does.
 */
const SYMBOL_SHIFT = 8;
const HAS_SYMBOL = 1 << 16;
const BROKEN = 1 << 17;

const { steps, mayEnd } = buildSteps();

/**
 * Decodes a Huffman string of RFC 7541, section 5.2, into text with one character a byte. Throws `HpackError` for EOS inside the text
 * and for padding that is longer than seven bits or not all ones.
 */
export function decodeHuffman(bytes: Uint8Array, start: number, end: number): string {
  const out = Buffer.allocUnsafe(Math.floor(((end - start) * 8) / 5));
  let length = 0;
  let state = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at] ?? 0;
    const high = steps[(state << 4) | (byte >> 4)] ?? BROKEN;
    if ((high & HAS_SYMBOL) !== 0) out[length++] = high >> SYMBOL_SHIFT;
    const low = steps[((high & 0xff) << 4) | (byte & 15)] ?? BROKEN;
    if ((low & HAS_SYMBOL) !== 0) out[length++] = low >> SYMBOL_SHIFT;
    if (((high | low) & BROKEN) !== 0) throw new HpackError('EOS inside a Huffman string');
    state = low & 0xff;
  }
  if (mayEnd[state] !== 1) throw new HpackError('bad padding of a Huffman string');
  return out.toString('latin1', 0, length);
}

function buildSteps(): { readonly steps: Int32Array; readonly mayEnd: Uint8Array } {
  const tree = buildTree();
  const steps = new Int32Array(STATES * 16);
  for (let state = 0; state < STATES; state++) {
    for (let bits = 0; bits < 16; bits++) steps[(state << 4) | bits] = stepFrom(tree, state, bits);
  }
  const mayEnd = new Uint8Array(STATES);
  let node = 0;
  for (let ones = 0; ones < 8; ones++) {
    mayEnd[node] = 1;
    node = tree[node * 2 + 1] ?? 0;
  }
  return { steps, mayEnd };
}

function stepFrom(tree: Int32Array, state: number, bits: number): number {
  let node = state;
  let entry = 0;
  for (let bit = 3; bit >= 0; bit--) {
    const next = tree[node * 2 + ((bits >> bit) & 1)] ?? 0;
    if (next >= 0) {
      node = next;
      continue;
    }
    const symbol = -next - 1;
    if (symbol === EOS) return BROKEN;
    entry |= HAS_SYMBOL | (symbol << SYMBOL_SHIFT);
    node = 0;
  }
  return entry | node;
}

/** Two children a node, the root is 0: an inner node by its number, a leaf as -1 - symbol. */
function buildTree(): Int32Array {
  const tree = new Int32Array(STATES * 2);
  const order = Array.from(CODE_LENGTHS.keys()).toSorted(
    (a, b) => (CODE_LENGTHS[a] ?? 0) - (CODE_LENGTHS[b] ?? 0) || a - b,
  );
  let nodes = 1;
  let code = 0;
  let last = CODE_LENGTHS[order[0] ?? 0] ?? 0;
  for (const symbol of order) {
    const length = CODE_LENGTHS[symbol] ?? 0;
    code *= 2 ** (length - last);
    last = length;
    let node = 0;
    for (let bit = length - 1; bit > 0; bit--) {
      const at = node * 2 + (Math.floor(code / 2 ** bit) % 2);
      tree[at] ||= nodes++;
      node = tree[at];
    }
    tree[node * 2 + (code % 2)] = -1 - symbol;
    code += 1;
  }
  return tree;
}
