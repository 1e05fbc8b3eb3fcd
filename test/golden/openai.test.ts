import type { Deployment } from '../../src/core/snapshot.ts';
import { createOpenAiBackend } from '../../src/dialects/openai/dialect.ts';
import { goldenTests } from './golden-tests.ts';

goldenTests({
  name: 'openai',
  backend: createOpenAiBackend(),
  deployment: {
    id: 'gpt-test@a',
    upstreamModel: 'served/name',
    backend: { basePath: '/v1', options: { version: '0.24.0' } },
  } as unknown as Deployment,
  model: 'gpt-test',
  contentType: 'text/event-stream',
});
