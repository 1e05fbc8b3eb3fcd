/** The files in `schema/` and `envoy/` that are made from `src/` and `examples/`. `node test/render/generated.ts` writes them. */
import fs from 'node:fs';
import path from 'node:path';
import { renderOpenApi } from '../../src/admin/docs/openapi.ts';
import { apiRoutes } from '../../src/admin/route-table.ts';
import { renderJsonSchema } from '../../src/config/json-schema.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { formatProblems } from '../../src/config/problem.ts';
import type { Snapshot } from '../../src/core/snapshot.ts';
import { renderEnvoy } from '../../src/render/render-envoy.ts';
import { renderExisting } from '../../src/render/render-existing.ts';

export const ROOT = path.resolve(import.meta.dirname, '..', '..');

/** Stands in for the secrets that the examples take from the environment. */
export const EXAMPLE_ENV = {
  TOKENLAT_KEY: 'an-example-key-of-some-length',
  TOKENLAT_ADMIN_TOKEN: 'an-example-token-that-is-long-enough-for-the-api',
  TOKENLAT_JWT_SECRET: 'an-example-secret-that-is-long-enough',
  TOKENLAT_BATCH_KEY: 'an-example-key-of-some-length',
  VLLM_KEY: 'example',
  PROVIDER_KEY: 'example',
} as const;

export function loadExample(name: string): Snapshot {
  const result = loadConfig({
    path: path.join(ROOT, 'examples', name),
    checkMatch: () => null,
    dialects: ['openai', 'vllm-generate', 'anthropic'],
    generation: 1,
    env: EXAMPLE_ENV,
  });
  if (!result.ok) throw new Error(formatProblems(result.problems));
  return result.snapshot;
}

/** Path below the root -> content. */
export function generatedFiles(): ReadonlyMap<string, string> {
  const files = new Map([
    ['schema/tokenlat.schema.json', renderJsonSchema()],
    ['schema/openapi.json', renderOpenApi(apiRoutes)],
  ]);
  const put = (folder: string, rendered: { readonly files: ReadonlyMap<string, string> }): void => {
    for (const [name, content] of rendered.files) files.set(`envoy/${folder}/${name}`, content);
  };
  put('gateway', renderEnvoy(loadExample('tokenlat.yaml'), { nodeId: 'gateway', dir: '/etc/envoy' }));
  put('sidecar', renderEnvoy(loadExample('sidecar.yaml'), { nodeId: 'sidecar', dir: '/etc/envoy' }));
  put('pool', renderEnvoy(loadExample('pool.yaml'), { nodeId: 'pool', dir: '/etc/envoy' }));
  put('existing-listener', renderExisting(loadExample('tokenlat.yaml')));
  return files;
}

if (process.argv[1] === import.meta.filename) {
  for (const [name, content] of generatedFiles()) {
    const file = path.join(ROOT, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, content);
  }
}
