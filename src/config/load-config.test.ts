import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { parse, stringify } from 'yaml';
import { loadConfig } from './load-config.ts';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'tokenlat-load-'));
after(() => fs.rmSync(dir, { recursive: true }));
const file = path.join(dir, 'tokenlat.yaml');

const BASE = `version: 1
redis: {url: "redis://127.0.0.1"}
auth: {api_keys: [{name: k, key: "0123456789abcdef", tenant: t}]}
backends: [{name: b, endpoints: [{url: "http://10.0.0.1:8000/v1/"}]}]
models: [{name: m, deployments: [{backend: b}]}]
`;

function load(text: string | Buffer, env: Record<string, string> = {}) {
  fs.writeFileSync(file, text);
  return loadConfig({
    path: file,
    env,
    generation: 7,
    dialects: ['openai', 'anthropic'],
    checkMatch: (source) =>
      source.includes('BAD') ? { message: 'no such word', offset: source.indexOf('BAD') } : null,
  });
}

function problems(text: string | Buffer, env?: Record<string, string>): string[] {
  const result = load(text, env);
  return result.ok
    ? []
    : result.problems.map((problem) => `${problem.line}:${problem.column} ${problem.path}: ${problem.message}`);
}

/** BASE with `change` laid over its top level. */
const withTop = (change: object): string => stringify({ ...(parse(BASE) as object), ...change });

function snapshot(text: string, env?: Record<string, string>) {
  const result = load(text, env);
  assert.ok(result.ok, JSON.stringify(result.ok ? '' : result.problems));
  return result.snapshot;
}

test('a short file gets every default', () => {
  const made = snapshot(BASE);
  assert.equal(made.generation, 7);
  assert.match(made.digest, /^[0-9a-f]{64}$/);
  assert.deepEqual(made.backends.get('b')?.endpoints, [{ host: '10.0.0.1', port: 8000, weight: 1 }]);
  assert.equal(made.backends.get('b')?.basePath, '/v1');
  assert.equal(made.models.get('m')?.deployments[0]?.id, 'm@b');
  assert.equal(made.routes.at(-1)?.id, 'default');
  assert.equal(made.limits.bodyBytes, 8 * 1024 * 1024);
  assert.equal(made.auth.apiKeys[0]?.sha256.length, 64);
});

test('a snapshot never changes', () => {
  const made = snapshot(BASE);
  assert.throws(() => Object.assign(made.limits, { bodyBytes: 1 }), TypeError);
  assert.throws(() => (made.backends as Map<string, unknown>).set('x', 1), TypeError);
  assert.throws(() => (made.routes as unknown[]).push(1), TypeError);
});

test('the digest follows what takes effect', () => {
  const digest = snapshot(BASE).digest;
  assert.equal(snapshot(`# a comment\n${BASE}`).digest, digest);
  assert.notEqual(snapshot(`${BASE}limits: {body: 1MiB}\n`).digest, digest);
  const withSecret = withTop({ auth: { api_keys: [{ name: 'k', key: '${env:K}', tenant: 't' }] } });
  assert.notEqual(
    snapshot(withSecret, { K: 'a'.repeat(16) }).digest,
    snapshot(withSecret, { K: 'b'.repeat(16) }).digest,
  );
});

test('tenants, prices, limits and aliases are compiled', () => {
  const made = snapshot(
    withTop({
      tenants: [{ name: 't', limits: { tokens_per_month: 5 }, subject_limits: { requests_per_minute: 6 } }],
      aliases: { one: 'two', two: 'm' },
      backends: [
        {
          name: 'b',
          endpoints: [{ url: 'https://h.example' }],
          limits: { concurrency: 9, queue: { size: 3 } },
          credentials: { header: 'X-Api-Key', value: 'v' },
        },
      ],
      models: [
        {
          name: 'm',
          deployments: [
            {
              backend: 'b',
              price: { prompt_per_mtok: 0.05, completion_per_mtok: 0.08 },
              profile: { max_concurrency: 2, context: 100 },
            },
          ],
        },
      ],
      routes: [{ name: 'r', match: 'a', candidates: [{ model: 'one' }], fallback: [{ model: 'two' }] }],
    }),
  );
  assert.deepEqual(made.tenants.get('t')?.limits, [
    { unit: 'tokens', window: { kind: 'calendar', unit: 'month' }, limit: 5, per: 'tenant' },
    { unit: 'requests', window: { kind: 'sliding', seconds: 60 }, limit: 6, per: 'subject' },
  ]);
  const deployment = made.models.get('m')?.deployments[0];
  assert.deepEqual(deployment?.price, {
    currency: 'USD',
    promptPerMtok: 50_000,
    cachedPerMtok: 50_000,
    completionPerMtok: 80_000,
  });
  assert.deepEqual(deployment?.concurrency, { limit: 2, perInstance: null });
  assert.deepEqual(deployment?.queue, { size: 3, bytes: 64 * 1024 * 1024, timeoutMs: 2000, text: null });
  assert.equal(deployment?.rates, null);
  assert.equal(deployment?.profile.defaultMaxTokens, 50);
  assert.deepEqual(deployment?.backend.credentials, [['x-api-key', 'v']]);
  assert.deepEqual(
    [...made.aliases],
    [
      ['one', 'm'],
      ['two', 'm'],
    ],
  );
  assert.deepEqual(made.routes[0]?.candidates, [{ model: 'm', weight: 1, canary: false }]);
  assert.deepEqual(made.routes[0]?.fallback, ['m']);
  assert.deepEqual(made.backends.get('b')?.endpoints[0], { host: 'h.example', port: 443, weight: 1 });
});

test('a reference may stand for a number or a switch', () => {
  const text = withTop({ listen: { port: '${env:PORT}' }, filter: { enabled: '${env:ON:-false}' } });
  assert.equal(snapshot(text, { PORT: '8080' }).listen.port, 8080);
  assert.match(problems(text, { PORT: 'x' })[0] ?? '', /must be a number, not a text/);
});

test('filter terms come from the file and beside it', () => {
  fs.writeFileSync(path.join(dir, 'terms.txt'), '\uFEFF# words\r\nbad word\r\n\r\nworse\r\n');
  assert.deepEqual(snapshot(withTop({ filter: { terms: ['here', 'worse'], terms_file: 'terms.txt' } })).filter, {
    enabled: true,
    terms: ['here', 'worse', 'bad word'],
  });
  assert.match(
    problems(withTop({ filter: { terms_file: 'nowhere' } }))[0] ?? '',
    /filter.terms_file: .*does not exist/,
  );
});

const HS = { issuer: 'i', algorithms: ['HS256'] };
const REFUSED: readonly [name: string, change: object, expected: RegExp][] = [
  ['unknown key', { modles: [] }, /"modles" is not known here. Did you mean "models"/],
  ['wrong version', { version: 2 }, /version: must be 1/],
  ['number without unit', { timeouts: { idle: 5 } }, /timeouts.idle: must be a duration/],
  ['out of range', { timeouts: { idle: '9h' } }, /between 100ms and 1h/],
  ['nobody may ask', { auth: {} }, /nobody could use the gateway/],
  [
    'mixed algorithms',
    { auth: { issuers: [{ ...HS, algorithms: ['HS256', 'RS256'], secret: 'x'.repeat(32) }] } },
    /mixes HS/,
  ],
  ['HS without secret', { auth: { issuers: [HS] } }, /needs "secret" or "exec"/],
  ['short secret', { auth: { issuers: [{ ...HS, secret: 'short' }] } }, /at least 32 bytes for HS256, not 5/],
  [
    'secret shorter than its hash',
    { auth: { issuers: [{ ...HS, algorithms: ['HS512'], secret: 'x'.repeat(40) }] } },
    /at least 64 bytes for HS512, not 40/,
  ],
  [
    'asymmetric without keys',
    { auth: { issuers: [{ issuer: 'i', audience: 'a', algorithms: ['RS256'] }] } },
    /needs "jwks"/,
  ],
  [
    'asymmetric without audience',
    { auth: { issuers: [{ issuer: 'i', algorithms: ['RS256'], jwks: { url: 'https://x/k' } }] } },
    /needs "audience"/,
  ],
  [
    'issuer twice',
    {
      auth: {
        issuers: [
          { ...HS, secret: 'x'.repeat(32) },
          { ...HS, secret: 'x'.repeat(32) },
        ],
      },
    },
    /named twice/,
  ],
  [
    'jwks at metadata',
    {
      auth: {
        issuers: [{ issuer: 'i', audience: 'a', algorithms: ['RS256'], jwks: { url: 'http://169.254.169.254/k' } }],
      },
    },
    /link-local/,
  ],
  [
    'unknown dialect',
    { backends: [{ name: 'b', dialect: 'opnai', endpoints: [{ url: 'http://h' }] }] },
    /Did you mean "openai"/,
  ],
  [
    'backend twice',
    {
      backends: [
        { name: 'b', endpoints: [{ url: 'http://h' }] },
        { name: 'b', endpoints: [{ url: 'http://h' }] },
      ],
    },
    /named twice/,
  ],
  [
    'reserved name',
    { backends: [{ name: 'tokenlat-b', endpoints: [{ url: 'http://h' }] }] },
    /must not begin with "tokenlat-"/,
  ],
  ['unfit cluster name', { backends: [{ name: 'a b', endpoints: [{ url: 'http://h' }] }] }, /1 to 63 letters/],
  ['two schemes', { backends: [{ name: 'b', endpoints: [{ url: 'http://h' }, { url: 'https://g' }] }] }, /same scheme/],
  ['two paths', { backends: [{ name: 'b', endpoints: [{ url: 'http://h/a' }, { url: 'http://g/b' }] }] }, /same path/],
  [
    'header of the gateway',
    { backends: [{ name: 'b', endpoints: [{ url: 'http://h' }], headers: { Host: 'x' } }] },
    /set by the gateway/,
  ],
  [
    'line break in a credential',
    { backends: [{ name: 'b', endpoints: [{ url: 'http://h' }], credentials: { header: 'a', value: 'x\ny' } }] },
    /visible ASCII/,
  ],
  [
    'unknown backend',
    { models: [{ name: 'm', deployments: [{ backend: 'bb' }] }] },
    /no backend "bb".*Did you mean "b"/,
  ],
  ['unknown fallback', { models: [{ name: 'm', deployments: [{ backend: 'b' }], fallback: ['mm'] }] }, /no model "mm"/],
  [
    'fallback to itself',
    { aliases: { a: 'm' }, models: [{ name: 'm', deployments: [{ backend: 'b' }], fallback: ['a'] }] },
    /leads back/,
  ],
  ['alias circle', { aliases: { a: 'c', c: 'a' } }, /leads in a circle/],
  ['alias to nothing', { aliases: { a: 'nowhere' } }, /no model "nowhere"/],
  ['alias is a model', { aliases: { m: 'm' } }, /name of a model already/],
  ['route twice', { routes: [{ name: 'r', match: 'a' }, { name: 'r' }] }, /named twice/],
  ['no weight', { routes: [{ name: 'r', candidates: [{ model: 'm', weight: 0 }] }] }, /weight 0/],
  [
    'only retired',
    {
      models: [{ name: 'm', stage: 'retired', deployments: [{ backend: 'b' }] }],
      routes: [{ name: 'r', candidates: [{ model: 'm' }] }],
    },
    /all retired/,
  ],
  [
    'negative price',
    { models: [{ name: 'm', deployments: [{ backend: 'b', price: { prompt_per_mtok: -1 } }] }] },
    /at least 0/,
  ],
  ['public tcp', { server: { transport: 'tcp', tcp: { address: '0.0.0.0' } } }, /give server.tcp.mtls/],
  ['long socket path', { server: { socket_dir: `/${'x'.repeat(100)}` } }, /socket path/],
  [
    'redis slower than Envoy waits',
    { server: { message_timeout: '200ms' } },
    /redis.command_timeout: 200ms is too long: it must be at least 30ms below/,
  ],
  ['missing certificate', { listen: { tls: { cert: 'no.pem', key: 'no.key' } } }, /no.pem is not there/],
  ['same port twice', { listen: { port: 9902 } }, /port 9902 is taken by listen.port/],
  [
    'event larger than answer',
    { limits: { response: '64KiB', event: '1MiB' } },
    /must not be larger than limits.response/,
  ],
  ['redis url', { redis: { url: 'http://x' } }, /redis:\/\/host:port/],
];

for (const [name, change, expected] of REFUSED) {
  test(`refused: ${name}`, () => {
    const found = problems(withTop(change));
    assert.ok(
      found.some((problem) => expected.test(problem)),
      JSON.stringify(found),
    );
  });
}

test('addresses that hold machine credentials are refused in every spelling', () => {
  for (const host of [
    '169.254.169.254',
    '2852039166',
    '0xA9FEA9FE',
    '[::ffff:169.254.169.254]',
    '[fe80::1]',
    '[fd00:ec2::254]',
    'METADATA.google.internal',
    'metadata.google.internal.',
  ]) {
    const backends = [{ name: 'b', endpoints: [{ url: `http://${host}/` }] }];
    assert.match(problems(withTop({ backends }))[0] ?? host, /link-local/, host);
    assert.deepEqual(problems(withTop({ backends: [{ ...backends[0], allow_link_local: true }] })), [], host);
  }
});

test('unfit endpoint URLs are refused and their passwords not repeated', () => {
  for (const url of [
    'ftp://h',
    'h:80',
    'http://u:passw0rd@h',
    'http://',
    'http://h:99999',
    'http://h/?a=1',
    'http://h/#x',
    'file:///etc/passwd',
  ]) {
    const [found] = problems(withTop({ backends: [{ name: 'b', endpoints: [{ url }] }] }));
    assert.match(found ?? '', /backends\[0\]\.endpoints\[0\]\.url/, url);
    assert.doesNotMatch(found ?? '', /passw0rd/);
  }
});

test('a fault in an expression is placed inside it', () => {
  const text = `${BASE}routes:\n  - {name: r, match: "a && BAD"}\n`;
  assert.deepEqual(problems(text), ['7:28 routes[0].match: is not a usable CEL expression: no such word']);
});

test('every problem is reported at once, in order', () => {
  const found = problems('version: 1\nlisten: {port: 0}\nauth: {}\nbackends: []\nmodels: x\nzzz: 1\n');
  assert.deepEqual(
    found.map((problem) => problem.split(' ', 2).join(' ')),
    ['2:16 listen.port:', '4:11 backends:', '5:9 models:', '6:1 zzz:'],
  );
});

test('warnings do not refuse', () => {
  const result = load(withTop({ redis: undefined, server: { ops: { address: '0.0.0.0' } } }));
  assert.ok(result.ok);
  assert.deepEqual(
    result.warnings.map((warning) => warning.path),
    ['', 'server.ops.address'],
  );
});

test('no half of the example throws or passes for the whole', () => {
  const example = fs.readFileSync(path.resolve(import.meta.dirname, '../../examples/tokenlat.yaml'), 'utf8');
  const env = {
    TOKENLAT_JWT_SECRET: 'x'.repeat(32),
    TOKENLAT_BATCH_KEY: 'x'.repeat(16),
    VLLM_KEY: 'v',
    PROVIDER_KEY: 'p',
  };
  const models = example.indexOf('\nmodels:');
  for (let length = 0; length < models; length += 97) {
    const found = problems(example.slice(0, length), env);
    assert.ok(found.length > 0, `${length}`);
  }
});

test('unreadable files are problems', () => {
  for (const content of [
    '',
    '   \n',
    '# only a comment\n',
    '[]',
    'x',
    Buffer.from([0xff, 0xfe, 0x41]),
    '\0',
    '\t',
    'a: b: c',
  ]) {
    assert.ok(problems(content).length > 0, JSON.stringify(content));
  }
  const missing = loadConfig({
    path: path.join(dir, 'nowhere.yaml'),
    checkMatch: () => null,
    dialects: [],
    generation: 1,
    env: {},
  });
  assert.equal(missing.ok, false);
  assert.equal(loadConfig({ path: dir, checkMatch: () => null, dialects: [], generation: 1, env: {} }).ok, false);
});

test('a byte order mark and CRLF are accepted', () => {
  assert.deepEqual(problems(`\uFEFF${BASE.replaceAll('\n', '\r\n')}`), []);
});
