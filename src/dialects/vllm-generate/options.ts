import { GatewayError } from '../../core/error.ts';
import type { Backend } from '../../core/snapshot.ts';

/** A backend's `options`, checked. */
export interface GenerateOptions {
  /** `max_tokens` for vLLM, `max_new_tokens` for servers of that school. */
  readonly maxTokensField: 'max_tokens' | 'max_new_tokens';
  /** How output is bound to a schema: vLLM from 0.12 on, before it, or not at all. */
  readonly constraints: 'structured_outputs' | 'guided' | 'none';
  /** Path below the backend's base path. */
  readonly path: string;
  /** Does each streamed `text` repeat what was there before? */
  readonly streamText: 'cumulative' | 'delta';
  /** What happens to control tokens that a client writes into a message. */
  readonly specialTokens: 'escape' | 'refuse';
  readonly bosToken: string;
  readonly eosToken: string;
}

type Raw = Backend['options'];

const VERSION = /^v?(\d+)\.(\d+)(?:[.\w+-]*)$/;
const KNOWN = new Set(['version', 'path', 'stream_text', 'special_tokens', 'bos_token', 'eos_token']);
const checked = new WeakMap<Raw, GenerateOptions>();

/** Reads a backend's `options`; one reading an object. Throws `GatewayError` (`internal_error`: it is the operator's fault). */
export function readGenerateOptions(raw: Raw): GenerateOptions {
  const known = checked.get(raw);
  if (known !== undefined) return known;
  for (const name of Object.keys(raw)) if (!KNOWN.has(name)) throw wrong(name, 'is not an option of vllm-generate');
  const path = text(raw, 'path', '/generate');
  if (!/^\/[\x21-\x7e]*$/.test(path)) throw wrong('path', 'must begin with / and hold visible ASCII only');
  const options: GenerateOptions = {
    ...flavour(text(raw, 'version', 'vllm')),
    path,
    streamText: choice(raw, 'stream_text', ['cumulative', 'delta']),
    specialTokens: choice(raw, 'special_tokens', ['escape', 'refuse']),
    bosToken: text(raw, 'bos_token', ''),
    eosToken: text(raw, 'eos_token', ''),
  };
  checked.set(raw, options);
  return options;
}

function flavour(version: string): Pick<GenerateOptions, 'maxTokensField' | 'constraints'> {
  if (version === 'max-new-tokens') return { maxTokensField: 'max_new_tokens', constraints: 'none' };
  if (version === 'vllm') return { maxTokensField: 'max_tokens', constraints: 'structured_outputs' };
  const match = VERSION.exec(version);
  if (match === null) throw wrong('version', 'must be vllm, max-new-tokens or a version of vLLM such as "0.11.2"');
  const isNew = Number(match[1]) > 0 || Number(match[2]) >= 12;
  return { maxTokensField: 'max_tokens', constraints: isNew ? 'structured_outputs' : 'guided' };
}

function text(raw: Raw, name: string, fallback: string): string {
  const value = raw[name];
  if (value === undefined) return fallback;
  // A bare 0.10 in YAML is the number 0.1: another version. Only a quoted one says what was meant.
  if (typeof value !== 'string') throw wrong(name, 'must be a string, in quotes');
  return value;
}

function choice<const T extends string>(raw: Raw, name: string, allowed: readonly [T, ...T[]]): T {
  const value = text(raw, name, allowed[0]);
  const found = allowed.find((one) => one === value);
  if (found === undefined) throw wrong(name, `must be one of ${allowed.join(', ')}`);
  return found;
}

function wrong(name: string, problem: string): GatewayError {
  return new GatewayError('internal_error', 'This model is not set up correctly.', {
    cause: new Error(`backend option ${name} ${problem}`),
  });
}
