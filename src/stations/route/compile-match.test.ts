import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileMatch } from './compile-match.ts';
import type { MatchVariables } from './compile-match.ts';
import { inputReader } from './match-inputs.ts';
import { config, context } from './route-kit.test.ts';
import type { Ask } from './route-kit.test.ts';
import { cpuTimeMs } from '../../../test/support/cpu-time.ts';

const ALL = { request: 'all', tenant: 'all', claims: 'all', headers: 'all' } as const;
const DAY = { kind: 'calendar', unit: 'day' } as const;
const line = { scope: 'tenant', unit: 'tokens', window: DAY, limit: 10 } as const;

function variables(ask: Ask = {}): MatchVariables {
  return inputReader(ALL)(context(config([], []), ask));
}

function answer(source: string, ask: Ask = {}): boolean | string {
  const match = compileMatch(source);
  assert.ok(match.ok, match.ok ? '' : match.error);
  const { matched, fault } = match.evaluate(variables(ask));
  // With only what it says it reads, it must say the same.
  assert.deepEqual(match.evaluate(inputReader(match.references)(context(config([], []), ask))), { matched, fault });
  return fault ?? matched;
}

const chat = {
  role: 'user',
  content: [
    { type: 'text', text: 'look' },
    { type: 'image_url', image_url: { url: 'x' } },
  ],
};

const TRUE: readonly (readonly [string, Ask])[] = [
  ["request.type == 'chat' && tenant.tier == 'premium'", { tier: 'premium' }],
  ["request.type == 'batch'", { headers: [['x-request-type', 'batch']] }],
  ["request.model.startsWith('gpt') && request.n == 1", { model: 'gpt-4' }],
  ['request.max_tokens == -1 && request.prompt_tokens > 5', {}],
  ['request.max_tokens in [100, 200]', { maxOutputTokens: 200 }],
  ["request.path == '/v1/chat/completions'", {}],
  [
    "request.app_id == 'app' && request.region == 'eu'",
    {
      headers: [
        ['x-app-id', 'app'],
        ['x-request-region', 'eu'],
      ],
    },
  ],
  ["request.business_line == 'general' && tenant.business_line == 'general'", {}],
  ["request.business_line == 'ads'", { headers: [['x-business-line', 'ads']] }],
  ["request.user == 'u1' && request.session_id == ''", { json: { user: 'u1' } }],
  ['request.enable_rag', { headers: [['x-enable-rag', 'TRUE']] }],
  ['request.has_tools && !request.has_images', { json: { tools: [{}] } }],
  ['request.has_images && request.messages_count == 1', { json: { messages: [chat] } }],
  [
    "request.last_message.contains('secret')",
    { texts: [{ param: 'messages[0].content[0].text', role: 'user', text: 'a secret' }] },
  ],
  ["request.last_message == 'p2'", { texts: ['p1', 'p2'].map((text) => ({ param: 'prompt', role: 'user', text })) }],
  ['tenant.tokens_remaining_today == -1', {}],
  ['tenant.tokens_remaining_today == 7', { limits: [{ line, remaining: 7, resetMs: 1 }] }],
  ["claims.groups.exists(g, g == 'lab') && claims['level'] > 2", { claims: { groups: ['x', 'lab'], level: 3 } }],
  ['has(claims.level) ? claims.level == 1 : request.stream', { stream: true }],
  [
    "headers['x-a'] == 'b, c' && 'x-a' in headers",
    {
      headers: [
        ['x-a', 'b'],
        ['x-a', 'c'],
      ],
    },
  ],
  [
    "!('authorization' in headers) && !('api-key' in headers)",
    {
      headers: [
        ['authorization', 'Bearer x'],
        ['api-key', 'x'],
      ],
    },
  ],
  ['claims.flag', { claims: { flag: true } }],
  ["claims.a.b == 'c'", { claims: { a: { b: 'c' } } }],
];

for (const [source, ask] of TRUE) test(`holds: ${source}`, () => assert.equal(answer(source, ask), true));

const FAULTS: readonly (readonly [string, Ask])[] = [
  ['claims.level == 1', {}],
  ["headers['x-a'] == 'b'", {}],
  ['claims.constructor == 1', {}],
  ["claims['__proto__'] == 1", {}],
  ["claims.level > 'a'", { claims: { level: 1 } }],
  ['claims.flag', { claims: { flag: 'yes' } }],
  ["claims.groups.exists(g, g.contains('x'))", { claims: { groups: [1] } }],
];

for (const [source, ask] of FAULTS) {
  test(`fails softly: ${source}`, () => {
    const fault = answer(source, ask);
    assert.ok(typeof fault === 'string' && fault !== '', String(fault));
  });
}

const REFUSED: readonly (readonly [source: string, word: RegExp, position: number])[] = [
  ["request.model.matches('(a+)+$')", /matches/, 0],
  ["tenant.tier == 'x' && request.model.matches('a')", /matches/, 22],
  ["claims.groups.exists(g, g.matches('a'))", /matches/, 24],
  ["matches(request.model, 'a')", /matches/, 0],
  ["request.last_message.split('').exists(c, c == 'a')", /split/, 0],
  ['claims.a.all(x, claims.b.all(y, x == y))', /loop/, 16],
  ['cel.bind(x, request.model, x == x)', /bind|cel/, 0],
  ['request.mode == "chat"', /mode/, 8],
  ['nothing == 1', /nothing/, 0],
  ["request.n == 'one'", /overload|int/, 0],
  ['request.model', /string, not bool/, 0],
  ['1 +', /EOF/, 3],
  ['', /./, 0],
  ['request.n > 1 &&', /EOF/, 16],
  [`${'('.repeat(100)}true${')'.repeat(100)}`, /./, 0],
  [Array.from({ length: 300 }, () => 'true').join(' && '), /./, 0],
  [`'${'x'.repeat(5000)}' == ''`, /longer/, 0],
];

for (const [source, word, position] of REFUSED) {
  test(`refused: ${source.slice(0, 60)}`, () => {
    const match = compileMatch(source);
    assert.ok(!match.ok);
    assert.match(match.error, word);
    assert.ok(!match.error.includes('\n'));
    if (position > 0) assert.equal(match.position, position);
    assert.ok(match.position >= 0 && match.position <= source.length);
  });
}

test('says what it reads, and all of it where it cannot tell', () => {
  const match = compileMatch(
    "request.model == 'x' && claims['a'] == 1 && headers[request.user] == 'z' && has(tenant.tier)",
  );
  assert.ok(match.ok);
  assert.deepEqual(match.references, {
    request: new Set(['model', 'user']),
    tenant: new Set(['tier']),
    claims: new Set(['a']),
    headers: 'all',
  });
});

test('a long message costs linear time', () => {
  const text = 'a'.repeat(1_000_000);
  const started = cpuTimeMs();
  const ask = { texts: [{ param: 'messages[0].content', role: 'user', text }] };
  assert.equal(answer("request.last_message.contains('b') || request.last_message.endsWith('ab')", ask), false);
  assert.ok(cpuTimeMs() - started < 500);
});
