import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePorts } from '../../../scripts/demo/free-ports.ts';
import { startProgram } from '../../setups/child-process.ts';
import { untilServed } from '../../setups/programs.ts';
import type { Setup } from '../../setups/setup.ts';
import { isWhole } from '../peer-folder.ts';
import type { Peer, PeerPlace } from '../peer.ts';
import { FOLDER, install, VERSION } from './install.ts';

/** Its OpenAI adapter serves below a path of its own. */
const PATH_PREFIX = '/openai';

/** nullplatform's gateway: a proxy by itself, on Node. */
export const nullplatform: Peer = {
  name: 'nullplatform',
  version: VERSION,
  what:
    'the gateway of nullplatform (npm `@nullplatform/llm-gateway`, MIT) in one process, with its OpenAI adapter, one model and its log ' +
    'at errors; no plugin, so no key check, routing or masking, and no Envoy in front; it serves chat alone, no embeddings',
  isInstalled: () => isWhole(FOLDER),
  install,
  start,
};

async function start({ dir, modelPort, probe, stops }: PeerPlace): Promise<Setup> {
  const [port = 0] = await freePorts(1);
  const config = join(dir, 'gateway.yaml');
  writeFileSync(config, configText(port, modelPort));
  const program = await startProgram({
    command: process.execPath,
    args: [
      join(FOLDER, 'node_modules', '@nullplatform', 'llm-gateway', 'dist', 'cli.js'),
      ...`start --config ${config}`.split(' '),
    ],
    logFile: join(dir, 'nullplatform.log'),
    cwd: dir,
    env: { NODE_ENV: 'production' },
  });
  stops.push(() => program.stop());
  await untilServed({ name: 'nullplatform', dir, port }, { ...probe, path: `${PATH_PREFIX}${probe.path}` });
  const processes = { gateway: program.pid };
  return { name: 'nullplatform', port, admin: null, pathPrefix: PATH_PREFIX, processes, prepare: async () => {} };
}

function configText(port: number, modelPort: number): string {
  return `server: { host: 127.0.0.1, port: ${port} }
logging: { level: error }
adapters: [ { name: openai, type: openai, config: {} } ]
models:
  - name: bench-chat
    isDefault: true
    provider:
      type: openai
      config: { baseUrl: "http://127.0.0.1:${modelPort}/v1", apiKey: key-of-the-bench-backend, model: bench-model }
`;
}
