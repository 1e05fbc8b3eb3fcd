import type { BackendDialect, ClientDialect } from '../core/dialect.ts';
import { createAnthropicBackend } from './anthropic/dialect.ts';
import { createOpenAiBackend, createOpenAiClient } from './openai/dialect.ts';
import { createVllmGenerate, type VllmGenerateOptions } from './vllm-generate/dialect.ts';

export interface DialectOptions {
  readonly vllmGenerate: VllmGenerateOptions;
}

export interface Dialects {
  /** By name: what clients may speak. */
  readonly clients: ReadonlyMap<string, ClientDialect>;
  /** By name, as `backend.dialect` says it: what backends may speak. */
  readonly backends: ReadonlyMap<string, BackendDialect>;
}

/** The registry: one line a dialect, nothing registers itself. */
export function createDialects(options: DialectOptions): Dialects {
  const clients = [createOpenAiClient()];
  const backends = [createOpenAiBackend(), createVllmGenerate(options.vllmGenerate), createAnthropicBackend()];
  return {
    clients: new Map(clients.map((dialect) => [dialect.name, dialect])),
    backends: new Map(backends.map((dialect) => [dialect.name, dialect])),
  };
}
