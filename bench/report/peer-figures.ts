import type { SetupName } from '../setups/setup.ts';
import { type Figure, several } from './figure.ts';
import { addedRatio, cpu, firstByte, p50, p99, perCore, ratio } from './measures.ts';

const AIGW = 'envoy-ai-gateway';
const EXT_PROC = cpu('ext_proc');

const ENVOY_AI_GATEWAY: readonly Figure[] = [
  {
    name: 'envoy_ai_gateway.ext_proc_cpu_plain',
    meaning: 'plain chat: CPU of the ext_proc server, TokenLat with everything on ÷ Envoy AI Gateway',
    goal: { at_most: 0.7 },
    value: ratio('plain', EXT_PROC, AIGW),
  },
  {
    name: 'envoy_ai_gateway.envoy_cpu_plain',
    meaning: 'plain chat: CPU of Envoy, TokenLat ÷ Envoy AI Gateway',
    goal: { at_most: 0.8 },
    value: ratio('plain', cpu('envoy'), AIGW),
  },
  {
    name: 'envoy_ai_gateway.added_p50',
    meaning: 'median latency added at 100 requests a second, TokenLat ÷ Envoy AI Gateway',
    goal: { at_most: 0.7 },
    value: addedRatio('latency', p50, AIGW),
  },
  {
    name: 'envoy_ai_gateway.added_p99',
    meaning: '99th percentile of the latency added at 100 requests a second, TokenLat ÷ Envoy AI Gateway',
    goal: { at_most: 0.8 },
    value: addedRatio('latency', p99, AIGW),
  },
  {
    name: 'envoy_ai_gateway.ext_proc_cpu_stream100',
    meaning: 'stream of 100 chunks: CPU of the ext_proc server, TokenLat ÷ Envoy AI Gateway',
    goal: { at_most: 0.5 },
    value: ratio('stream100', EXT_PROC, AIGW),
  },
  {
    name: 'envoy_ai_gateway.envoy_cpu_stream100',
    meaning: 'stream of 100 chunks: CPU of Envoy, TokenLat ÷ Envoy AI Gateway',
    value: ratio('stream100', cpu('envoy'), AIGW),
  },
  {
    name: 'envoy_ai_gateway.added_first_byte',
    meaning: 'median time to the first token that is added, 5 streams a second, TokenLat ÷ Envoy AI Gateway',
    value: addedRatio('first-token', firstByte, AIGW),
  },
  {
    name: 'envoy_ai_gateway.ext_proc_cpu_embeddings',
    meaning: 'embeddings of 100 inputs: CPU of the ext_proc server, TokenLat ÷ Envoy AI Gateway',
    value: ratio('embeddings', EXT_PROC, AIGW),
  },
  ...several({
    name: 'envoy_ai_gateway.ext_proc_cpu',
    suffix: '_minimal',
    meaning: 'CPU of the ext_proc server, TokenLat minimal ÷ Envoy AI Gateway',
    workloads: ['plain', 'stream100'],
    value: (workload) => ratio(workload, EXT_PROC, AIGW, 'tokenlat-minimal'),
  }),
];

/** What a peer without Envoy is compared in. */
function proxyPeer(setup: SetupName, name: string, goal?: Figure['goal']): readonly Figure[] {
  return [
    {
      name: `${setup}.throughput_per_core`,
      meaning: `requests a second of CPU (gateway, Envoy and Redis together), plain chat, TokenLat ÷ ${name}`,
      ...(goal === undefined ? {} : { goal }),
      value: ratio('plain', perCore, setup),
    },
    {
      name: `${setup}.throughput_per_core_embeddings`,
      meaning: `the same for embeddings of 100 inputs, TokenLat ÷ ${name}`,
      value: ratio('embeddings', perCore, setup),
    },
    {
      name: `${setup}.added_p50`,
      meaning: `median latency added at 50 requests a second to a model that takes 1.2 s, TokenLat ÷ ${name}`,
      value: addedRatio('slow-model', p50, setup),
    },
    {
      name: `${setup}.added_first_byte`,
      meaning: `median time to the first token that is added, 5 streams a second, TokenLat ÷ ${name}`,
      value: addedRatio('first-token', firstByte, setup),
    },
  ];
}

/** TokenLat beside other gateways, with goals. */
export const PEER_FIGURES: readonly Figure[] = [
  ...ENVOY_AI_GATEWAY,
  ...proxyPeer('litellm', 'LiteLLM', { at_least: 5 }),
  ...proxyPeer('portkey', 'Portkey', { at_least: 2 }),
];

/** Beside one more, without goals. It serves no embeddings. */
export const OTHER_PEER_FIGURES = proxyPeer('nullplatform', 'nullplatform’s gateway');
