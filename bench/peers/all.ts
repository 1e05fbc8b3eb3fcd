import { envoyAiGateway } from './envoy-ai-gateway/envoy-ai-gateway.ts';
import type { Peer } from './peer.ts';

/** Every peer that the bench knows. */
export const PEERS: readonly Peer[] = [envoyAiGateway];
