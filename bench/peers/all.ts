import { envoyAiGateway } from './envoy-ai-gateway/envoy-ai-gateway.ts';
import { litellm } from './litellm/litellm.ts';
import { nullplatform } from './nullplatform/nullplatform.ts';
import type { Peer } from './peer.ts';
import { portkey } from './portkey/portkey.ts';

/** Every peer that the bench knows. */
export const PEERS: readonly Peer[] = [envoyAiGateway, litellm, portkey, nullplatform];
