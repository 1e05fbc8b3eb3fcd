import type { Endpoint } from '../core/chat-request.ts';
import { createDialects as registry, type Dialects as Registered } from '../dialects/index.ts';
import type { Backend } from '../core/snapshot.ts';
import { readAnthropicOptions } from '../dialects/anthropic/options.ts';
import { createVllmGenerate } from '../dialects/vllm-generate/dialect.ts';
import { readGenerateOptions } from '../dialects/vllm-generate/options.ts';
import { estimateTokens } from '../lib/token-estimate/estimate-tokens.ts';

/** The dialects of this build, and what each can serve. */
export interface Dialects extends Registered {
  readonly names: readonly string[];
  readonly supports: (dialect: string, endpoint: Endpoint) => boolean;
}

/** `templates`: folder with the operator's own chat templates. */
export function createDialects({ templates }: { readonly templates: string | null }): Dialects {
  const registered = registry({ vllmGenerate: { estimateTokens, templates } });
  return {
    ...registered,
    names: [...registered.backends.keys()],
    supports: (dialect, endpoint) => LACKING[dialect]?.has(endpoint) !== true,
  };
}

const VLLM_GENERATE = 'vllm-generate';

const ANTHROPIC = 'anthropic';

/** What a dialect cannot serve. */
const LACKING: Readonly<Record<string, ReadonlySet<Endpoint>>> = {
  [VLLM_GENERATE]: new Set<Endpoint>(['embeddings']),
  [ANTHROPIC]: new Set<Endpoint>(['embeddings', 'completions']),
};

/** Read a backend's `options`; throw where something is wrong with them. */
const OPTIONS: Readonly<Record<string, (options: Backend['options']) => unknown>> = {
  [VLLM_GENERATE]: readGenerateOptions,
  [ANTHROPIC]: readAnthropicOptions,
};

/** What `backend.dialect` may say in a configuration. */
export const DIALECT_NAMES: readonly string[] = createDialects({ templates: null }).names;

const TEMPLATE_NAMES = createVllmGenerate({ estimateTokens }).templateNames;

/** What is wrong with a backend's `options`, for a configuration check; null when nothing is. */
export function checkOptions(dialect: string, options: Backend['options']): string | null {
  try {
    OPTIONS[dialect]?.(options);
    return null;
  } catch (reason) {
    const cause = reason instanceof Error && reason.cause instanceof Error ? reason.cause : reason;
    return cause instanceof Error ? cause.message : String(cause);
  }
}

/** Names that `chat_template` may have for a dialect; null where the backend renders prompts itself. */
export function chatTemplates(dialect: string): readonly string[] | null {
  return dialect === VLLM_GENERATE ? TEMPLATE_NAMES : null;
}
