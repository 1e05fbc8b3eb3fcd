import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { decodeJwt } from 'jose';
import { ConfigError } from '../app/config-error.ts';
import { StartupError } from '../app/startup-error.ts';
import { budgetCommand } from './commands/budget.ts';
import { completionCommand } from './commands/completion.ts';
import { configCommand } from './commands/config.ts';
import { costCommand } from './commands/cost.ts';
import { doctorCommand } from './commands/doctor.ts';
import { envoyCommand } from './commands/envoy.ts';
import { keysCommand } from './commands/keys.ts';
import { linesCommand } from './commands/lines.ts';
import { liveCommand } from './commands/live.ts';
import { quotaCommand } from './commands/quota.ts';
import { serveCommand } from './commands/serve.ts';
import { tenantsCommand } from './commands/tenants.ts';
import { tokenCommand } from './commands/token.ts';
import { topCommand } from './commands/top.ts';
import { traceCommand } from './commands/trace.ts';
import { upCommand } from './commands/up.ts';
import { version } from '../app/version.ts';
import { quietPorts } from '../../test/support/quiet-ports.ts';

const completionOfNone = (): Command => completionCommand(new Command());
const COMMANDS = [
  upCommand,
  serveCommand,
  configCommand,
  envoyCommand,
  doctorCommand,
  tokenCommand,
  traceCommand,
  keysCommand,
  tenantsCommand,
  linesCommand,
  quotaCommand,
  budgetCommand,
  costCommand,
  topCommand,
  liveCommand,
  completionOfNone,
].map((make) => make());

const MAIN = fileURLToPath(new URL('main.ts', import.meta.url));
const dir = mkdtempSync(join(tmpdir(), 'tl-cli-'));
after(() => rmSync(dir, { recursive: true }));

const CONFIG = `version: 1
auth:
  issuers: [{issuer: "https://dev.test", algorithms: [HS256], secret: "a-shared-secret-of-some-length-0123456789"}]
backends: [{name: b, endpoints: [{url: "http://10.0.0.1:8000/v1"}]}]
models: [{name: m, deployments: [{backend: b}]}]
`;
const good = join(dir, 'good.yaml');
writeFileSync(good, CONFIG);
const bad = join(dir, 'bad.yaml');
writeFileSync(bad, CONFIG.replace('backend: b', 'backend: c'));

function run(...words: string[]) {
  const env = { ...process.env, NO_COLOR: '1' };
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...words], {
    cwd: dir,
    env,
    encoding: 'utf8',
    timeout: 20_000,
  });
  return { status, stdout, stderr };
}

test('words that cannot be meant end with 2, in one line', () => {
  for (const words of [
    ['config', 'rollout', good],
    ['picker', '-c', good, '--listen', '9002'],
    ['picker', '-c', good, '--tls-key', 'key.pem'],
    ['token', '-c', good, '--tenant', 't', '--ttl', 'long'],
  ]) {
    const { status, stderr } = run(...words);
    assert.match(stderr, /^tokenlat: [^\n]+\n$/);
    assert.equal(status, 2, stderr);
  }
});

test('help names every command and is no error', () => {
  const { status, stdout, stderr } = run('--help');
  assert.deepEqual([status, stderr], [0, '']);
  for (const command of COMMANDS) {
    const name = command.name();
    assert.match(stdout, new RegExp(`^ {2}${name}\\b`, 'm'));
    assert.match(command.helpInformation(), new RegExp(`^Usage: ${name}`));
  }
});

test('the version is that of the package', () => {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  assert.equal(version(), (JSON.parse(manifest) as { version: string }).version);
});

test('words that are off exit with 2 and say so on the error stream alone', () => {
  for (const words of [['bogus'], ['trace'], ['token', '--bogus'], ['config', 'bogus']]) {
    const { status, stdout, stderr } = run(...words);
    assert.deepEqual([status, stdout], [2, ''], words.join(' '));
    assert.notEqual(stderr, '');
    assert.doesNotMatch(stderr, /^ {4}at /m, 'no stack');
  }
});

test('a configuration that is fit to run says so', () => {
  const { status, stdout } = run('config', 'check', good);
  assert.equal(status, 0);
  assert.match(stdout, /fit to run \(1 backend, 1 model, 1 route\)/);
});

test('where a configuration has no admin API, the command tells what to write, and that is enough', () => {
  const { status, stderr } = run('top', '--config', good);
  assert.equal(status, 1);
  const written = stderr.split('\n').find((line) => line.startsWith('  admin: ')) ?? '';
  const file = join(dir, 'with-admin.yaml');
  writeFileSync(file, `${CONFIG}\n${written.trim()}\n`);
  const env = { ...process.env, TOKENLAT_ADMIN_TOKEN: '0123456789abcdef0123456789abcdef' };
  const checked = spawnSync(process.execPath, [MAIN, 'config', 'check', file], { encoding: 'utf8', env });
  assert.deepEqual([checked.status, /fit to run/.test(checked.stdout)], [0, true], `${stderr}\n${checked.stderr}`);
});

test('one that is not there is told without a place, and how to name another', () => {
  const { status, stderr } = run('top');
  assert.deepEqual([status, stderr], [3, `${join(dir, 'tokenlat.yaml')}: does not exist: -c names another one\n`]);
});

test('one that is not exits with 3 and tells the place', () => {
  const { status, stdout, stderr } = run('config', 'check', '--config', bad);
  assert.deepEqual([status, stdout], [3, '']);
  assert.match(stderr, new RegExp(`^${bad.replaceAll('.', '\\.')}:5:\\d+: `));
  assert.match(stderr, /\n {4}models: .*\n +\^/);
});

test('every command reads the configuration before anything else', async () => {
  const missing = join(dir, 'nowhere.yaml');
  for (const [make, ...words] of [
    [configCommand, 'check'],
    [tokenCommand],
    [envoyCommand, 'render'],
    [doctorCommand],
    [traceCommand, 'x'],
    [keysCommand, 'list'],
    [costCommand, 'report'],
    [costCommand, 'verify', 'x'],
    [costCommand, 'reconcile', 'x.csv'],
    [serveCommand],
    [upCommand],
  ] as const) {
    const asked = make()
      .exitOverride()
      .parseAsync([...words, '--config', missing], { from: 'user' });
    await assert.rejects(
      asked,
      (error) => error instanceof ConfigError && error.message.endsWith('nowhere.yaml: does not exist'),
    );
  }
});

test('a token is one line', () => {
  const { status, stdout } = run('token', '-c', good, '--tenant', 'acme');
  assert.equal(status, 0);
  assert.match(stdout, /^[\w-]+\.[\w-]+\.[\w-]+\n$/);
  assert.equal(decodeJwt(stdout.trim())['tenant'], 'acme');
});

test("Envoy's files are written where they are wanted", () => {
  const out = join(dir, 'envoy');
  const { status, stdout } = run('envoy', 'render', '-c', good, '--out', out);
  assert.equal(status, 0);
  const names = readdirSync(out, { recursive: true, encoding: 'utf8' });
  for (const line of stdout.trim().split('\n')) assert.ok(existsSync(line), line);
  assert.ok(names.some((name) => /bootstrap/.test(name) || /envoy/.test(name)));
});

test('what lies outside is told in one line, with 1', async () => {
  const doctor = run('doctor', '-c', good, '--admin', 'http://127.0.0.1:9');
  assert.equal(doctor.status, 1);
  assert.match(doctor.stderr, /^tokenlat: Envoy's admin does not answer at http:\/\/127\.0\.0\.1:9 .*\n$/);
  const trace = traceCommand().parseAsync(['x', '-c', good, '--state', join(dir, 'nowhere')], { from: 'user' });
  await assert.rejects(
    trace,
    (error) => error instanceof StartupError && error.message.startsWith('no Redis to read from'),
  );
});

test('what the admin API refuses is one line with its code, and has an exit code of its own', async () => {
  const server = http.createServer((request, response) => {
    const [, status, code] = /^\/(\d+)\/(\w+)\//.exec(request.url ?? '') ?? [];
    response.writeHead(Number(status)).end(JSON.stringify({ error: { code, message: 'No.' } }));
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  after(() => server.close());
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const cases = [
    [5, 401, 'invalid_credentials'],
    [6, 412, 'precondition_failed'],
    [1, 503, 'too_slow'],
  ] as const;
  await Promise.all(
    cases.map(async ([exit, status, code]) => {
      const words = ['tenants', 'list', '--admin', `${base}/${status}/${code}`];
      const env = { ...process.env, TOKENLAT_ADMIN_TOKEN: 'x' };
      const child = spawn(process.execPath, [MAIN, ...words], { env, cwd: dir });
      let stderr = '';
      child.stderr.on('data', (piece: Buffer) => void (stderr += piece.toString()));
      const [ended] = (await once(child, 'close')) as [number];
      const told = `tokenlat: the admin API refused: ${code} (HTTP ${status}): No.\n`;
      assert.deepEqual([ended, stderr], [exit, told]);
    }),
  );
});

test('a picker books nothing, and does not warn that nothing is kept', async () => {
  const file = join(dir, 'picker.yaml');
  const pool = CONFIG.replace('{name: b,', '{name: b, pool: {},').replace('/v1"', '"');
  writeFileSync(file, `${pool}server: {ops: {port: ${(await quietPorts(1))[0]}}}\n`);
  const child = spawn(process.execPath, [MAIN, 'picker', '-c', file, '--listen', '127.0.0.1:0'], { cwd: dir });
  let told = '';
  const picking = new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (piece: Buffer) => {
        told += piece.toString();
        if (told.includes('"picking"')) resolve();
      });
  });
  const ended = once(child, 'close');
  await Promise.race([picking, ended]);
  child.kill('SIGTERM');
  assert.deepEqual(await ended, [0, null], told);
  assert.match(told, /"picking"/);
  assert.doesNotMatch(told, /in memory/);
});
