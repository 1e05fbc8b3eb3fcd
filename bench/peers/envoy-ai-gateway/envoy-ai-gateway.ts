import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../../../scripts/demo/free-ports.ts';
import { load } from '../../../src/app/load.ts';
import { waitUntil } from '../../../src/app/wait-until.ts';
import { startProgram } from '../../setups/child-process.ts';
import { gatewayConfig } from '../../setups/gateway-config.ts';
import { START_MS, startEnvoy, untilServed } from '../../setups/programs.ts';
import type { Setup } from '../../setups/setup.ts';
import { isWhole } from '../peer-folder.ts';
import type { Peer, PeerPlace } from '../peer.ts';
import { envoyConfig } from './envoy-config.ts';
import { FOLDER, install, VERSION } from './install.ts';

/** `aigw` starts an Envoy of this version, two threads wide and with a listener of its own; ours stands in its place. */
const ENVOY_VERSION = '1.40.0';
const NO_ENVOY = `#!/bin/sh
while kill -0 "$PPID" 2>/dev/null; do sleep 10; done
`;

/** Envoy AI Gateway's ext_proc server, as `aigw run` starts it, behind an Envoy like that of every other setup here. */
export const envoyAiGateway: Peer = {
  name: 'envoy-ai-gateway',
  version: VERSION,
  what:
    'the ext_proc server of Envoy AI Gateway in its program `aigw`, with the configuration it makes itself for one backend of ' +
    'the OpenAI kind (routing by model, the key of the backend, token counts for the access log, metrics; no client ' +
    'authentication, limit or filter), on one Envoy thread with its two filters and the listener that all setups have',
  isInstalled: () => isWhole(FOLDER),
  install,
  start,
};

async function start(place: PeerPlace): Promise<Setup> {
  const { dir, modelPort, stops } = place;
  const socket = join(dir, 'r', '0', 'uds.sock');
  const ext_proc = await startAigw(place, socket);
  const [listen = 0, admin = 0, ops = 0] = await freePorts(3);
  const config = join(dir, 'listener.yaml');
  const places = { listen, admin, ops, model: modelPort, socketDir: dir, redis: null };
  writeFileSync(config, gatewayConfig({ workers: 1, everything: false }, places));
  const bootstrap = join(dir, 'envoy.yaml');
  writeFileSync(bootstrap, envoyConfig({ snapshot: load(config).snapshot, modelPort, socket }));
  const envoy = await startEnvoy({ dir, admin, workers: 1, stops }, bootstrap);
  await untilServed({ name: 'envoy-ai-gateway', dir, port: listen }, place.probe);
  return { name: 'envoy-ai-gateway', port: listen, admin, processes: { ext_proc, envoy }, prepare: async () => {} };
}

async function startAigw({ dir, modelPort, stops }: PeerPlace, socket: string): Promise<number> {
  const data = join(dir, 'home', '.local', 'share', 'aigw');
  const bin = join(data, 'envoy-versions', ENVOY_VERSION, 'bin');
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, 'envoy'), NO_ENVOY);
  chmodSync(join(bin, 'envoy'), 0o755);
  // It keeps certificates there whatever HOME says.
  const certificates = join(userInfo().homedir, '.config', 'envoy-gateway');
  const isOurs = !existsSync(certificates);
  const logFile = join(dir, 'aigw.log');
  const aigw = await startProgram({
    command: join(FOLDER, 'aigw'),
    args: ['run'],
    logFile,
    env: {
      HOME: join(dir, 'home'),
      AIGW_DATA_HOME: data,
      AIGW_STATE_HOME: join(dir, 'state'),
      AIGW_RUNTIME_DIR: join(dir, 'r'),
      AIGW_RUN_ID: '0',
      ENVOY_VERSION,
      OPENAI_API_KEY: 'key-of-the-bench-backend',
      OPENAI_BASE_URL: `http://127.0.0.1:${modelPort}/v1`,
    },
  });
  stops.push(async () => {
    await aigw.stop();
    if (isOurs) rmSync(certificates, { recursive: true, force: true });
  });
  if (!(await waitUntil(() => existsSync(socket), { timeoutMs: START_MS }))) {
    throw new Error(`aigw did not start; see ${logFile}`);
  }
  return aigw.pid;
}
