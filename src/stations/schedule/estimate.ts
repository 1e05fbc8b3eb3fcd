import type { ChatRequest } from '../../core/chat-request.ts';
import { estimateCost } from '../../core/estimate-cost.ts';
import type { MicroUnits } from '../../core/money.ts';
import type { Deployment, Snapshot } from '../../core/snapshot.ts';

/** What a request may take, before a route is known. Whole tokens. */
export interface Estimate {
  readonly promptTokens: number;
  /** Over all choices. */
  readonly outputTokens: number;
  /** The first deployment of the model asked for, when there is such a model. */
  readonly deployment: Deployment | null;
}

/** Output tokens reserved when neither the client nor the model's profile says. */
const DEFAULT_OUTPUT = 1024;
/** Stores count in whole numbers below 2^53; a client's bound may be any number. */
const MOST = 1_000_000_000;

/** The most that a request is expected to use: its prompt, and the client's bound or the model's default for each choice. */
export function estimateOf(config: Snapshot, request: ChatRequest): Estimate {
  const name = config.aliases.get(request.model) ?? request.model;
  const deployment = config.models.get(name)?.deployments[0] ?? null;
  const each = request.maxOutputTokens ?? deployment?.profile.defaultMaxTokens ?? DEFAULT_OUTPUT;
  return {
    promptTokens: Math.min(MOST, request.promptTokens),
    outputTokens: request.endpoint === 'embeddings' ? 0 : Math.min(MOST, each * request.n),
    deployment,
  };
}

/**
 * The most that such a request may cost, for limits on spending: on the dearest deployment of the model asked for; where
 * the choice is ours, on the dearest of all.
 * @param time - When it arrived, Unix milliseconds.
 */
export function spendOf(
  config: Snapshot,
  request: ChatRequest,
  { promptTokens, outputTokens }: Estimate,
  time: number,
): MicroUnits {
  const model = config.models.get(config.aliases.get(request.model) ?? request.model);
  const models = model === undefined ? [...config.models.values()] : [model];
  const deployments = models.flatMap((each) => each.deployments);
  return estimateCost(deployments, promptTokens, outputTokens, { time });
}
