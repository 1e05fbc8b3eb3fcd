import type { Endpoint } from '../core/chat-request.ts';
import { createDialects as registry, type Dialects as Registered } from '../dialects/index.ts';
import { estimateTokens } from '../lib/token-estimate/estimate-tokens.ts';

/** The dialects of this build, and what each can serve. */
export interface Dialects extends Registered {
  readonly names: readonly string[];
  readonly supports: (dialect: string, endpoint: Endpoint) => boolean;
}

/** Dialects that have no embeddings. */
const TEXT_ONLY = new Set(['vllm-generate']);

/** `templates`: folder with the operator's own chat templates. */
export function createDialects({ templates }: { readonly templates: string | null }): Dialects {
  const registered = registry({ vllmGenerate: { estimateTokens, templates } });
  return {
    ...registered,
    names: [...registered.backends.keys()],
    supports: (dialect, endpoint) => endpoint !== 'embeddings' || !TEXT_ONLY.has(dialect),
  };
}

/** What `backend.dialect` may say in a configuration. */
export const DIALECT_NAMES: readonly string[] = createDialects({ templates: null }).names;
