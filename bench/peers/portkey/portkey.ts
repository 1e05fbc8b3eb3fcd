import { join } from 'node:path';
import { freePorts } from '../../../scripts/demo/free-ports.ts';
import { startProgram } from '../../setups/child-process.ts';
import { untilServed } from '../../setups/programs.ts';
import type { Setup } from '../../setups/setup.ts';
import { isWhole } from '../peer-folder.ts';
import type { Peer, PeerPlace } from '../peer.ts';
import { FOLDER, install, VERSION } from './install.ts';

/** Portkey's open gateway: a proxy by itself, on Node. */
export const portkey: Peer = {
  name: 'portkey',
  version: VERSION,
  what:
    'Portkey AI Gateway as its package starts it without the console, one process; each request names the provider and the ' +
    'address of the model server in headers; no key check, cache, guardrail or retry, and no Envoy in front',
  isInstalled: () => isWhole(FOLDER),
  install,
  start,
};

async function start({ dir, modelPort, probe, stops }: PeerPlace): Promise<Setup> {
  const [port = 0] = await freePorts(1);
  const server = join(FOLDER, 'node_modules', '@portkey-ai', 'gateway', 'build', 'start-server.js');
  const program = await startProgram({
    command: process.execPath,
    args: [server, `--port=${port}`, '--headless'],
    logFile: join(dir, 'portkey.log'),
    cwd: dir,
    env: { NODE_ENV: 'production' },
  });
  stops.push(() => program.stop());
  const headers = {
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': `http://127.0.0.1:${modelPort}/v1`,
    authorization: 'Bearer key-of-the-bench-backend',
  };
  await untilServed({ name: 'portkey', dir, port }, { ...probe, headers: { ...probe.headers, ...headers } });
  return { name: 'portkey', port, admin: null, headers, processes: { gateway: program.pid }, prepare: async () => {} };
}
