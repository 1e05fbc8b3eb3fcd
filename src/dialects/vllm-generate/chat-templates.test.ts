import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { Json } from '../../core/json.ts';
import { deployment, chatRequest } from '../../../test/golden/vllm-generate/request.ts';
import { loadChatTemplates } from './chat-templates.ts';
import { createVllmGenerate } from './dialect.ts';

const GOLDEN = path.join(import.meta.dirname, '../../../test/golden/vllm-generate');
const NAMES = ['chatml', 'gemma', 'llama3', 'mistral', 'qwen'];
const NO_TOKENS = { bos: '', eos: '' };

interface Scenario {
  readonly messages: Json;
  readonly prompts: Readonly<Record<string, string>>;
}

for (const file of readdirSync(GOLDEN).filter((name) => name.endsWith('.json'))) {
  const { messages, prompts } = JSON.parse(readFileSync(path.join(GOLDEN, file), 'utf8')) as Scenario;
  for (const name of NAMES) {
    test(`golden prompt: ${file} with ${name}`, () => {
      const dialect = createVllmGenerate({ estimateTokens: (text) => text.length });
      const { body } = dialect.encode(chatRequest({ model: 'm', messages }), deployment({ chatTemplate: name }));
      assert.equal((JSON.parse(body.toString()) as { prompt: string }).prompt, prompts[name]);
    });
  }
}

test('every built-in template takes bos_token, and mistral eos_token', () => {
  const templates = loadChatTemplates(null);
  assert.deepEqual([...templates.keys()].toSorted(), NAMES);
  const turns = [
    { role: 'user', content: 'a' },
    { role: 'assistant', content: 'b' },
    { role: 'user', content: 'c' },
  ];
  for (const name of NAMES.filter((one) => one !== 'qwen')) {
    assert.ok(templates.get(name)!.render(turns, { bos: '<B>', eos: '' }).startsWith('<B>'), name);
  }
  assert.ok(templates.get('mistral')!.render(turns, { bos: '', eos: '<E>' }).includes(' b<E>'));
});

test('what a template refuses is the client to mend: 400 with param messages', () => {
  const templates = loadChatTemplates(null);
  const answerFirst = [{ role: 'assistant', content: 'x' }];
  for (const name of ['mistral', 'gemma']) {
    assert.throws(() => templates.get(name)!.render(answerFirst, NO_TOKENS), {
      code: 'invalid_value',
      status: 400,
      param: 'messages',
      message: /take turns/,
    });
    assert.throws(() => templates.get(name)!.render([{ role: 'system', content: 'x' }], NO_TOKENS), {
      code: 'invalid_value',
    });
  }
  const late = [
    { role: 'user', content: 'x' },
    { role: 'system', content: 'y' },
  ];
  assert.throws(() => templates.get('qwen')!.render(late, NO_TOKENS), { code: 'invalid_value' });
});

test("the operator's templates: own ones, ours replaced, begin kept, faults told apart", (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'templates-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const write = (name: string, text: string): void => writeFileSync(path.join(folder, name), text);
  write('chatml.jinja', '\n  own:{{ messages[0].content }}');
  write('tools.jinja', "{% for m in messages %}{% if m.role == 'tool' %}T{% endif %}{{ m.content }}{% endfor %}");
  const history = [
    { role: 'user', content: 'a' },
    { role: 'assistant', content: null, tool_calls: [{ id: 'c1', function: { name: 'f', arguments: '<|x|>' } }] },
    { role: 'tool', tool_call_id: 'c1', content: 'b' },
  ];
  const dialect = createVllmGenerate({ templates: folder });
  assert.ok(dialect.templateNames.includes('tools') && dialect.templateNames.includes('qwen'));
  const send = (chatTemplate: string) =>
    dialect.encode(chatRequest({ model: 'm', messages: history }), deployment({ chatTemplate })).body.toString();
  assert.match(send('tools'), /"prompt":"aTb"/);
  assert.throws(() => send('llama3'), { code: 'unsupported_parameter', param: 'messages[1].tool_calls' });
  write('broken.jinja', '{{ messages | nosuchfilter }}');
  write('notes.txt', '{% not a template');
  const templates = loadChatTemplates(folder);
  const messages = [{ role: 'user', content: 'x' }];
  assert.equal(templates.get('chatml')!.render(messages, NO_TOKENS), '\n  own:x');
  assert.equal(templates.get('llama3')!.knowsTools, false);
  assert.equal(templates.get('tools')!.knowsTools, true);
  assert.throws(() => templates.get('broken')!.render(messages, NO_TOKENS), { code: 'internal_error' });
  write('worse.jinja', '{% if %}');
  assert.throws(() => loadChatTemplates(folder), /worse\.jinja does not compile/);
  assert.throws(() => loadChatTemplates(path.join(folder, 'none')), /ENOENT/);
});
