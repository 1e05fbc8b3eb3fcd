import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { Finding } from '../../core/finding.ts';
import { HeaderList } from '../../core/http.ts';
import { createModelsProbe } from './models-probe.ts';
import { backend, deployment } from './probe-kit.test.ts';
import { holdsModel, readAdapters, readModels } from './read-models.ts';

test('lists of models as OpenAI and Ollama give them, and nothing else', () => {
  const openai = JSON.stringify({ object: 'list', data: [{ id: 'base' }, { id: 'sql-lora', parent: 'base' }, 7] });
  assert.deepEqual([...(readModels(openai) ?? [])], ['base', 'sql-lora']);
  const ollama = readModels(JSON.stringify({ models: [{ name: 'llama3:latest', model: 'llama3:latest' }] }));
  assert.ok(ollama !== null && holdsModel(ollama, 'llama3') && !holdsModel(ollama, 'llama'));
  for (const text of ['', 'null', '[]', '{"data":1}', '<html>']) assert.equal(readModels(text), null, text);
  fc.assert(fc.property(fc.json(), (text) => (readModels(text), true)));
});

test("vLLM's adapters in use: the newest line counts, waiting ones are being loaded", () => {
  const line = (running: string, waiting: string, at: number) =>
    `vllm:lora_requests_info{max_lora="4",running_lora_adapters="${running}",waiting_lora_adapters="${waiting}"} ${at}\n`;
  const text = `# TYPE vllm:lora_requests_info gauge\n${line('old', '', 1.7e9)}${line('a, b', 'c', 1.8e9)}`;
  assert.deepEqual([...(readAdapters(text) ?? [])], ['a', 'b', 'c']);
  assert.deepEqual([...(readAdapters(line('', '', 1)) ?? ['x'])], []);
  assert.equal(readAdapters('vllm:num_requests_running 3\n'), null);
});

test('a model is loaded where every endpoint has it; a list that cannot be read says nothing', async () => {
  const lists: Record<number, string> = { 8000: '{"data":[{"id":"m"},{"id":"n"}]}', 8001: '{"data":[{"id":"m"}]}' };
  const on = backend('b', null, { endpoints: [8000, 8001].map((port) => ({ host: '10.0.0.1', port, weight: 1 })) });
  const found = new Map<string, Finding | null>();
  const asked: string[] = [];
  const probe = createModelsProbe(
    {
      key: 'k',
      backend: on,
      models: { path: '/v1/models', intervalMs: 1000, timeoutMs: 100 },
      allowLinkLocal: false,
      targets: ['m', 'n', 'o'].map((name) => ({
        deployment: { ...deployment(name, on), upstreamModel: name },
        incarnation: name,
      })),
      ask: async ({ port, path, headers }) => {
        asked.push(`${path} ${headers.flat().join(' ')}`);
        return { head: { status: 200, headers: new HeaderList([]) }, body: Buffer.from(lists[port] ?? '') };
      },
    },
    {
      findings: { set: (name, _, finding) => void found.set(name, finding), get: () => null },
      clock: { now: () => 0 },
    },
  );
  assert.equal(await probe.look(), true);
  assert.deepEqual(
    [...found].map(([name, finding]) => [name, finding?.reason, finding?.detail]),
    [
      ['m', 'model_loaded', 'at 2 of 2 endpoints'],
      ['n', 'model_unloaded', 'at 1 of 2 endpoints'],
      ['o', 'model_unloaded', 'at 0 of 2 endpoints'],
    ],
  );
  assert.equal(asked[0], '/v1/models authorization Bearer ours');
  lists[8001] = 'nonsense';
  found.clear();
  assert.equal(await probe.look(), false);
  assert.equal(found.size, 0);
  probe.forget();
  assert.deepEqual([...found.values()], [null, null, null]);
});
