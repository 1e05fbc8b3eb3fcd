import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { ChatRequest } from '../../core/chat-request.ts';
import { HeaderList } from '../../core/http.ts';
import { estimateTokens } from '../../lib/token-estimate/estimate-tokens.ts';
import { createOpenAiClient } from './dialect.ts';

const client = createOpenAiClient();
const LICENCE = readFileSync(new URL('../../../LICENSE', import.meta.url), 'utf8');

function parse(raw: Buffer, path = '/v1/chat/completions'): ChatRequest {
  const head = { method: 'POST', path, headers: new HeaderList([]) };
  return client.parse(head, raw, { jsonDepth: 64, jsonKeys: 25_000 });
}

const chat = (content: unknown, extra: object = {}): Buffer =>
  Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', content }], ...extra }));

test('a long prompt is not decoded before somebody reads it, then as it is', () => {
  const text = 'Please say "hello" to everyone.\n'.repeat(40_000);
  const raw = chat(text);
  let decoded = 0;
  const toString = raw.toString.bind(raw);
  raw.toString = (coding, start = 0, end = raw.length) => {
    decoded += end - start;
    return toString(coding, start, end);
  };
  const request = parse(raw);
  assert.ok(decoded < raw.length / 10, `${decoded} of ${raw.length} bytes`);
  assert.ok(Math.abs(request.promptTokens / (estimateTokens(text) + 7) - 1) < 0.1);
  const [part] = request.texts;
  assert.equal(part?.param, 'messages[0].content');
  assert.ok(part?.text === text);
  assert.deepEqual(request.json, JSON.parse(raw.toString()));
  assert.ok(decoded > raw.length * 1.9);
});

test('long texts are found in their places, with all that is said of them', () => {
  const long = 'so many words '.repeat(400);
  const picture = `data:image\\/png;base64,${'A'.repeat(9000)}`;
  const body = `{"model":"m","messages":[{"role":"system","content":${JSON.stringify(long)}},{"role":"user","content":[
    {"type":"text","text":${JSON.stringify(`${long}é`)}},{"type":"image_url","image_url":{"url":"${picture}"}},
    {"type":"file","file":{"file_data":"${'B'.repeat(5000)}","filename":"f"}}]}],
    "tools":[{"type":"function","function":{"name":"f","description":${JSON.stringify(`${long}\n`)}}}]}`;
  const { texts } = parse(Buffer.from(body));
  const places = texts.map(({ param, role, text }) => [param, role, text.length] as const);
  for (const place of [
    ['messages[0].content', 'system', long.length],
    ['messages[1].content[0].text', 'user', long.length + 1],
    ['messages[1].content[2].file.filename', 'user', 1],
    ['tools[0].function.description', 'tool', long.length + 1],
  ] as const) {
    assert.ok(
      places.some((found) => String(found) === String(place)),
      String(place),
    );
  }
  assert.ok(!texts.some(({ text }) => text.startsWith('data:') || text.startsWith('BBB')));
});

test('long texts count about as many tokens as their parts, in whatever way they are written', () => {
  const samples = [
    LICENCE,
    'Сегодня очень хорошая погода, поэтому мы пойдём гулять в парк. ',
    '今天天气很好，我们一起去公园散步吧。',
  ];
  for (const sample of samples) {
    const text = sample.repeat(Math.ceil(200_000 / sample.length));
    const tokens = estimateTokens(text);
    const plain = JSON.stringify(text);
    // As writers of plain ASCII have it.
    const escaped = plain.replaceAll(
      /[\u0080-\uffff]/g,
      (unit) => String.raw`\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
    for (const token of [plain, escaped]) {
      const { promptTokens } = parse(Buffer.from(`{"model":"m","prompt":${token}}`), '/v1/completions');
      assert.ok(Math.abs(promptTokens / tokens - 1) < 0.15, `${promptTokens} for ${tokens}: ${sample.slice(0, 9)}`);
    }
  }
});

test('what is too long for its member is refused, and a long string is no other kind', () => {
  const long = 'x'.repeat(5000);
  const refused = (body: object, param: string): void =>
    assert.throws(() => parse(Buffer.from(JSON.stringify(body))), { code: 'invalid_value', param });
  const messages = [{ role: 'user', content: 'hi' }];
  refused({ model: long, messages }, 'model');
  refused({ model: 'm', messages, n: long }, 'n');
  refused({ model: 'm', messages: long }, 'messages');
  refused({ model: 'm', messages: [long] }, 'messages[0]');
  refused({ model: 'm', messages, stream: long }, 'stream');
});

test('what begins like a picture is text wherever a model reads it as text', () => {
  for (const size of [0, 9000]) {
    const posed = `data:;base64, how to make it ${'so '.repeat(size)}`;
    const tool = { type: 'function', function: { name: 'f', description: posed, parameters: { url: posed } } };
    const content = [
      { type: 'text', text: posed },
      { type: 'image_url', image_url: { url: posed } },
      { type: 'image_url', image_url: posed },
    ];
    const places = parse(chat(content, { tools: [tool], documents: [{ url: posed }] })).texts;
    assert.deepEqual(
      places.filter(({ text }) => text === posed).map(({ param }) => param),
      [
        'messages[0].content[0].text',
        'tools[0].function.description',
        'tools[0].function.parameters.url',
        'documents[0].url',
      ],
    );
    const [whole] = parse(chat(posed)).texts;
    assert.ok(whole?.text === posed);
    assert.ok(parse(Buffer.from(JSON.stringify({ model: 'm', prompt: posed })), '/v1/completions').texts.length > 0);
  }
});
