import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDialects } from './index.ts';

test('each dialect is found under the name that configurations use', () => {
  const { clients, backends } = createDialects({ vllmGenerate: { estimateTokens: (text) => text.length } });
  assert.deepEqual([...clients.keys()], ['openai']);
  assert.deepEqual([...backends.keys()], ['openai', 'vllm-generate', 'anthropic']);
  for (const [name, dialect] of [...clients, ...backends]) assert.equal(dialect.name, name);
});
