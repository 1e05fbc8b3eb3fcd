import { answer, chat, chunk, is, json, type Kin, sse } from './kin.ts';
import type { CaseJwt, CaseRequest, CaseStep, ConfigHint, HintLimits } from './report.ts';

const BACKENDS = [{ name: 'A', kind: 'openai', serves: ['gpt-test'] }];
const AUTH: ConfigHint = {
  backends: BACKENDS,
  auth: { issuer: 'https://issuer.test', audience: 'llm-gw', jwks: ['A'], clock_skew_s: 60 },
};
const limited = (limits: HintLimits): ConfigHint => ({ backends: BACKENDS, limits });
const CLAIMS = { iss: 'https://issuer.test', aud: 'llm-gw', sub: 'user-1', exp: 'now+600', models: ['*'] };

function token(header: object, claims: object = {}, pair = 'A'): CaseJwt {
  return {
    header: { alg: 'RS256', typ: 'JWT', kid: 'a1', ...header },
    claims: { ...CLAIMS, ...claims },
    sign_with: pair,
  };
}

const bearing = (authorization: string, more: Readonly<Record<string, string>> = {}): CaseRequest =>
  chat({}, { authorization, ...more });
const JWT = bearing('Bearer ${jwt}');

type Row = readonly [expected: number, step: Partial<CaseStep>];

/** Steps with the status that each must get. */
function sequence(id: string, hint: ConfigHint, rows: readonly Row[]): Kin {
  return {
    id,
    hint,
    steps: rows.map(([, step]) => step),
    claims: rows.map(([expected], index) => is(`step[${index}].client.status`, 'eq', expected)),
  };
}

const ask = (extra: object): CaseRequest => chat({ max_tokens: 80, ...extra });
const SOON = '800 ms later';

/** Cases that take more than one request. */
export const STEP_KIN: readonly Kin[] = [
  sequence('tokens that pass', AUTH, [
    [200, { request: JWT, jwt: token({ kid: undefined }) }],
    [200, { request: JWT, jwt: token({ typ: undefined }) }],
    [200, { request: JWT, jwt: token({ typ: 'at+jwt' }) }],
    [200, { request: JWT, jwt: token({}, { models: 'gpt-test' }) }],
    [200, { request: JWT, jwt: token({}, { exp: 'now-30' }) }],
    [200, { request: bearing('Bearer ${jwt} '), jwt: token({}) }],
  ]),
  sequence('tokens that do not', AUTH, [
    [401, { request: JWT, jwt: token({ kid: 'nope' }) }],
    [401, { request: JWT, jwt: token({ kid: 5 }) }],
    [401, { request: JWT, jwt: token({ alg: 'none' }) }],
    [401, { request: JWT, jwt: token({ alg: 'HS256' }) }],
    [401, { request: JWT, jwt: token({ alg: 'RS512' }) }],
    [401, { request: JWT, jwt: token({ crit: ['x'], x: 1 }) }],
    [401, { request: JWT, jwt: token({}, { sub: undefined }) }],
    [401, { request: JWT, jwt: token({}, { iss: 'https://issuer.test/' }) }],
    [401, { request: JWT, jwt: token({}, { nbf: '"soon"' }) }],
    [401, { request: JWT, jwt: token({}, { exp: Number.MAX_VALUE }) }],
    [401, { request: JWT, jwt: token({}, { nonce: 'x' }) }],
    [401, { request: JWT, jwt: token({}, {}, 'X') }],
    [401, { request: bearing('Bearer ${jwt}x'), jwt: token({}) }],
    [401, { request: bearing('Bearer ${jwt}, Bearer ${jwt}'), jwt: token({}) }],
    [401, { request: bearing('Bearer ${jwt}', { Authorization: 'Bearer ${jwt}' }), jwt: token({}) }],
    [401, { request: bearing('${jwt}'), jwt: token({}) }],
  ]),
  sequence('models that a token does not name', AUTH, [
    [403, { request: JWT, jwt: token({}, { models: [] }) }],
    [403, { request: JWT, jwt: token({}, { models: ['GPT-TEST'] }) }],
    [403, { request: JWT, jwt: token({}, { models: undefined }) }],
  ]),
  sequence('what was reserved and not used is given back', limited({ tokens_per_min: 100 }), [
    [200, { request: ask({}) }],
    [200, { request: ask({}), before: SOON }],
  ]),
  sequence('an upstream that fails costs nothing', limited({ tokens_per_min: 100 }), [
    [500, { request: ask({}), upstream: json('{"error":{"message":"x"}}', 500) }],
    [200, { request: ask({}), before: SOON }],
  ]),
  sequence('each choice counts', limited({ tokens_per_min: 100 }), [
    [429, { request: ask({ max_tokens: 40, n: 3 }) }],
    [200, { request: ask({ max_tokens: 40, n: 2 }) }],
  ]),
  sequence('a client that leaves gives its place free', limited({ max_parallel: 1 }), [
    [
      200,
      {
        request: { ...ask({ stream: true }), client_abort: { after_events: 1 } },
        upstream: sse(chunk({ content: 'a' }), { hang: true }),
      },
    ],
    [200, { request: ask({}), before: SOON }],
  ]),
  sequence('what is refused does not count', limited({ requests_per_min: 2 }), [
    [400, { request: { ...chat(), body: undefined, body_raw: '{' } }],
    [404, { request: chat({ model: 'nope' }) }],
    [200, { request: chat() }],
    [200, { request: chat(), upstream: json(answer()) }],
    [429, { request: chat() }],
  ]),
];
