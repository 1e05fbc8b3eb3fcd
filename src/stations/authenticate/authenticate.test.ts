import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../core/error.ts';
import type { HeaderPair } from '../../core/http.ts';
import { HeaderList } from '../../core/http.ts';
import { apiKey, bench, context, jwt, NOW, outcome, snapshot } from './token-kit.test.ts';

async function refusal(headers: readonly HeaderPair[], config = snapshot()): Promise<GatewayError> {
  try {
    await bench().station.identify(new HeaderList(headers), config);
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    return error;
  }
  return assert.fail('was let in');
}

test('the scheme in any case, with any spaces; the token exactly', async () => {
  const made = bench();
  const config = snapshot();
  for (const scheme of ['Bearer ', 'bearer ', 'BEARER ', 'Bearer  ', '  Bearer     ']) {
    assert.equal(await outcome(made, [['authorization', `${scheme}${jwt()}`]], config), '200', scheme);
  }
  assert.equal(
    await outcome(made, [['authorization', `Bearer ${jwt().toUpperCase()}`]], config),
    'invalid_credentials',
  );
  for (const value of [`Basic ${jwt()}`, 'Bearer', 'Bearer ', jwt(), `Bearer,${jwt()}`, `Token ${jwt()}`]) {
    assert.equal(await outcome(made, [['authorization', value]], config), 'missing_credentials', value);
  }
  for (const value of [`Bearer ${jwt()} x`, `Bearer ${jwt()},x`, `Bearer ${jwt()}\tx`, 'Bearer \u00e9']) {
    assert.equal(await outcome(made, [['authorization', value]], config), 'invalid_credentials', value);
  }
});

test('API keys by three headers; authorization wins', async () => {
  const made = bench();
  const config = snapshot({ apiKeys: [apiKey('sk-other'), apiKey('sk-good', { subject: 'svc' })] });
  assert.equal(await outcome(made, 'sk-good', config), '200');
  assert.equal(await outcome(made, [['x-api-key', 'sk-good']], config), '200');
  assert.equal(await outcome(made, [['api-key', 'sk-good']], config), '200');
  assert.equal(await outcome(made, [['x-api-key', 'sk-bad']], config), 'invalid_credentials');
  // A JWT belongs into `authorization`.
  assert.equal(await outcome(made, [['x-api-key', jwt()]], config), 'invalid_credentials');
  const all = ['x-api-key', 'api-key', 'x-goog-api-key'].map((name) => [name, jwt()] as const);
  assert.equal(await outcome(made, [['authorization', `Bearer ${jwt()}`], ...all], config), '200');
  assert.equal(
    await outcome(
      made,
      [
        ['authorization', 'Bearer sk-bad'],
        ['x-api-key', 'sk-good'],
      ],
      config,
    ),
    'invalid_credentials',
  );
});

test('what a key grants', async () => {
  const config = snapshot({
    apiKeys: [apiKey('sk', { quotaDaily: 0, scopes: ['canary'], businessLine: 'ads', name: 'ads-key' })],
  });
  const principal = await bench().station.identify(new HeaderList([['api-key', 'sk']]), config);
  assert.equal(principal.tenant, 'acme');
  assert.equal(principal.tier, 'standard');
  assert.equal(principal.businessLine, 'ads');
  assert.equal(principal.credential, 'ads-key');
  assert.equal(principal.limits[0]?.limit, 0);
  assert.ok(principal.scopes.has('canary'));
});

test('two of one header are one too many', async () => {
  const config = snapshot({ apiKeys: [apiKey('sk-good')] });
  for (const name of ['authorization', 'x-api-key', 'api-key']) {
    const value = name === 'authorization' ? 'Bearer sk-good' : 'sk-good';
    assert.equal(
      await outcome(
        bench(),
        [
          [name, value],
          [name, value],
        ],
        config,
      ),
      'invalid_credentials',
      name,
    );
  }
});

test('nothing sent, and nothing read from the query', async () => {
  const config = snapshot({ apiKeys: [apiKey('sk-query')] });
  const error = await refusal([], config);
  assert.equal(error.code, 'missing_credentials');
  assert.equal(error.status, 401);
  assert.deepEqual(error.headers, [['www-authenticate', 'Bearer realm="tokenlat"']]);
});

test('one answer for every bad credential', async () => {
  const bad = ['sk-bad', jwt({}, {}, 'X'), jwt({ aud: 'x' }), jwt({}, { kid: 'nope' }), 'a'.repeat(9000), 'a.b.c'];
  const answers = await Promise.all(bad.map((token) => refusal([['authorization', `Bearer ${token}`]])));
  const texts = answers.map((error) =>
    JSON.stringify([error.status, error.toJSON(), error.headers, error.retryAfterMs]),
  );
  assert.equal(new Set(texts).size, 1);
  assert.match(String(answers[0]?.headers[0]?.[1]), /^Bearer realm="tokenlat", error="invalid_token"$/);
});

test('an expired token is told so, and only when all else is good', async () => {
  const expired = await refusal([['authorization', `Bearer ${jwt({ exp: NOW - 600 })}`]]);
  assert.equal(expired.code, 'expired_credentials');
  assert.equal(expired.status, 401);
  assert.match(String(expired.headers[0]?.[1]), /error="invalid_token"/);
});

test('the model is checked after the alias, by name or by target', async () => {
  const made = bench();
  const config = snapshot({}, { aliases: new Map([['team-fast', 'claude-haiku']]) });
  const cases: readonly (readonly [readonly string[], string, string])[] = [
    [['claude-sonnet*'], 'team-fast', 'model_not_allowed'],
    [['team-fast'], 'team-fast', '200'],
    [['gpt-4.1*'], 'gpt-4.1-mini', '200'],
    [['gpt-4.1*'], 'gpt-4x1-mini', 'model_not_allowed'],
    [['*4*mini*'], 'gpt-4.1-mini', '200'],
    [['gpt-4.1*'], 'my-gpt-4.1-mini', 'model_not_allowed'],
    [[], 'gpt-4.1-mini', 'model_not_allowed'],
  ];
  for (const [models, model, expected] of cases) {
    assert.equal(await outcome(made, jwt({ models }), config, model), expected, `${models.join()} ${model}`);
  }
});

test('a refusal of a model names the field and stays short', async () => {
  const { station } = bench();
  const config = snapshot();
  const ctx = context([['authorization', `Bearer ${jwt({ models: [] })}`]], config, 'm'.repeat(100_000));
  await assert.rejects(
    async () => station.run?.(ctx),
    (error: GatewayError) => {
      assert.equal(error.code, 'model_not_allowed');
      assert.equal(error.status, 403);
      assert.equal(error.param, 'model');
      return error.message.length < 300;
    },
  );
});

test('run without head checks the credential itself', async () => {
  const { station } = bench();
  await assert.rejects(async () => station.run?.(context([], snapshot())), { code: 'missing_credentials' });
});
