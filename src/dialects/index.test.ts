import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chatRequest, decodeContext } from '../../test/golden/vllm-generate/request.ts';
import { HeaderList } from '../core/http.ts';
import { createDialects } from './index.ts';

test('each dialect is found under the name that configurations use', () => {
  const { clients, backends } = createDialects({ vllmGenerate: { estimateTokens: (text) => text.length } });
  assert.deepEqual([...clients.keys()], ['openai']);
  assert.deepEqual([...backends.keys()], ['openai', 'vllm-generate', 'anthropic']);
  for (const [name, dialect] of [...clients, ...backends]) assert.equal(dialect.name, name);
});

test('the whole answer of each dialect can be given to a client as a stream', () => {
  const { clients, backends } = createDialects({ vllmGenerate: { estimateTokens: (text) => text.length } });
  const whole: Readonly<Record<string, object>> = {
    openai: {
      id: 'c',
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
    },
    'vllm-generate': { text: ['hello'] },
    anthropic: {
      type: 'message',
      content: [{ type: 'text', text: 'hello' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 3, output_tokens: 1 },
    },
  };
  const head = { status: 200, headers: new HeaderList([['content-type', 'application/json']]) };
  for (const [name, dialect] of backends) {
    const request = chatRequest({ model: 'm', stream: false, messages: [{ role: 'user', content: 'hi' }] });
    const decoder = dialect.decoder(head, decodeContext(request));
    const events = [...decoder.push(Buffer.from(JSON.stringify(whole[name]))), ...decoder.end()];
    const encoder = clients.get('openai')!.encoder({ stream: true, includeUsage: true });
    const lines = encoder.write(events).map(String);
    const [said = '', usage = ''] = lines.map((line) => line.replace(/^data: /, ''));
    const chunk = JSON.parse(said) as { object: string; choices: { delta: { content: string } }[] };
    assert.deepEqual([chunk.object, chunk.choices[0]?.delta.content], ['chat.completion.chunk', 'hello'], name);
    assert.match(usage, /"choices":\[\],"usage":\{/, name);
    assert.equal(lines.at(-1), 'data: [DONE]\n\n', name);
  }
});
