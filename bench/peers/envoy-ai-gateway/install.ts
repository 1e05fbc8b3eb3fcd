import { wheelBinary } from '../../../scripts/wheel.mjs';
import { fillFolder, peerFolder } from '../peer-folder.ts';

/** Version of Envoy AI Gateway, as its program tells it. */
export const VERSION = '1.2.0';

/** The wheel carries the release binary of the project. */
const WHEEL = 'theagentrouter-local-gateway==0.1.0a7';
const SUMS = {
  'theagentrouter_local_gateway-0.1.0a7-py3-none-manylinux_2_36_x86_64.whl':
    '69985da7c7a54927ce937be95da6afc5a383851f7b44b9bfae0d70e61bef79ee',
};

export const FOLDER = peerFolder('envoy-ai-gateway', VERSION);

/** Fetches `aigw`, the program of Envoy AI Gateway. */
export async function install(): Promise<void> {
  await fillFolder(FOLDER, () => wheelBinary(FOLDER, WHEEL, [], 'aigw', SUMS));
}
