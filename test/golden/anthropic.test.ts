import { createAnthropicBackend } from '../../src/dialects/anthropic/dialect.ts';
import { goldenTests } from './golden-tests.ts';
import { deployment } from './vllm-generate/request.ts';

goldenTests({
  name: 'anthropic',
  backend: createAnthropicBackend(),
  deployment: deployment(),
  model: 'claude-test',
  contentType: 'text/event-stream; charset=utf-8',
});
