import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePorts } from '../../../scripts/demo/free-ports.ts';
import { startProgram } from '../../setups/child-process.ts';
import { untilServed } from '../../setups/programs.ts';
import type { Setup } from '../../setups/setup.ts';
import { isWhole } from '../peer-folder.ts';
import type { Peer, PeerPlace } from '../peer.ts';
import { install, FOLDER, PYTHON, VERSION } from './install.ts';

const MASTER_KEY = 'sk-bench-0123456789';

/** LiteLLM's proxy: a gateway by itself, on Python. */
export const litellm: Peer = {
  name: 'litellm',
  version: VERSION,
  what:
    'the LiteLLM proxy with one worker process and one model; its master key is checked, its cost map is the local one, and it ' +
    'has no database, Redis, limit, budget, guardrail or callback, and no Envoy in front',
  isInstalled: () => isWhole(FOLDER),
  install,
  start,
};

async function start({ dir, modelPort, probe, stops }: PeerPlace): Promise<Setup> {
  const [port = 0] = await freePorts(1);
  const config = join(dir, 'config.yaml');
  writeFileSync(config, configText(modelPort));
  const program = await startProgram({
    command: PYTHON,
    args: [
      join(FOLDER, 'venv', 'bin', 'litellm'),
      ...`--config ${config} --host 127.0.0.1 --port ${port} --num_workers 1`.split(' '),
    ],
    logFile: join(dir, 'litellm.log'),
    cwd: dir,
    env: { LITELLM_LOCAL_MODEL_COST_MAP: 'True', LITELLM_LOG: 'ERROR', LITELLM_TELEMETRY: 'False' },
  });
  stops.push(() => program.stop());
  const headers = { authorization: `Bearer ${MASTER_KEY}` };
  await untilServed({ name: 'litellm', dir, port }, { ...probe, headers: { ...probe.headers, ...headers } });
  return { name: 'litellm', port, admin: null, headers, processes: { gateway: program.pid }, prepare: async () => {} };
}

function configText(modelPort: number): string {
  return `model_list:
  - model_name: bench-chat
    litellm_params: { model: openai/bench-model, api_base: "http://127.0.0.1:${modelPort}/v1", api_key: key-of-the-bench-backend }
  - model_name: bench-embed
    litellm_params: { model: openai/bench-embed, api_base: "http://127.0.0.1:${modelPort}/v1", api_key: key-of-the-bench-backend }
general_settings: { master_key: ${MASTER_KEY} }
litellm_settings: { num_retries: 0, request_timeout: 120 }
`;
}
