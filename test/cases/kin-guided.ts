import { ALPHA, answer, chat, is, json, type Kin, kin, OK, raw, says, sse, streamed } from './kin.ts';
import type { ConfigHint } from './report.ts';

const GOOD = json(answer());
const vllm = (version?: string): ConfigHint => ({
  backends: [{ name: 'A', kind: 'vllm', serves: ['gpt-test'], ...(version === undefined ? {} : { version }) }],
});
const sent = (path: string, value: unknown) => is(`upstream[0].body.${path}`, 'deep_eq', value);
const notSent = (path: string) => is(`upstream[0].body.${path}`, 'absent');
const question = (extra = ''): string => `{"model":"gpt-test","messages":[{"role":"user","content":"x"}]${extra}}`;

/** Guided output for vLLM of two ages. */
export const GUIDED_KIN: readonly Kin[] = [
  kin(
    'regex',
    chat({ guided_regex: 'a+' }),
    GOOD,
    [OK, sent('structured_outputs', { regex: 'a+' }), notSent('guided_regex')],
    vllm(),
  ),
  kin(
    'choice',
    chat({ guided_choice: ['a', 'b'] }),
    GOOD,
    [OK, sent('structured_outputs', { choice: ['a', 'b'] })],
    vllm('0.12.0'),
  ),
  kin(
    'grammar',
    chat({ guided_grammar: 'root ::= "a"' }),
    GOOD,
    [OK, sent('structured_outputs', { grammar: 'root ::= "a"' })],
    vllm(),
  ),
  kin(
    'schema with white space',
    chat({ guided_json: { type: 'object' }, guided_whitespace_pattern: ' ' }),
    GOOD,
    [OK, sent('structured_outputs', { json: { type: 'object' }, whitespace_pattern: ' ' })],
    vllm(),
  ),
  kin(
    'schema with long digits',
    raw(question(',"guided_json":{"type":"object","maximum":12345678901234567890}')),
    GOOD,
    [OK, is('upstream[0].raw_body', 'contains', '12345678901234567890'), notSent('guided_json')],
    vllm(),
  ),
  kin(
    'schema and stream',
    streamed({ guided_json: { type: 'object' } }),
    sse(...ALPHA),
    [
      ...says('Alpha'),
      sent('structured_outputs', { json: { type: 'object' } }),
      sent('stream_options', { include_usage: true }),
    ],
    vllm(),
  ),
  kin(
    'older vLLM',
    chat({ guided_json: { type: 'object' } }),
    GOOD,
    [OK, sent('guided_json', { type: 'object' })],
    vllm('0.11.2'),
  ),
  kin('no vLLM', chat({ guided_json: { type: 'object' } }), GOOD, [OK, sent('guided_json', { type: 'object' })]),
];
