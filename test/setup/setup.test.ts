import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { makeFolder, ROOT, CACHE, withLock } from '../../scripts/cache.mjs';
import { chromiumBin } from '../../scripts/chromium.mjs';
import { envoyBin, nodeBin, redisBin } from '../../scripts/setup.mjs';
import { atLeast, ENVOY, findVersion, isFitNode, REDIS } from '../../scripts/versions.mjs';

type Pins = Readonly<Record<string, string>>;

interface Manifest {
  readonly dependencies: Pins;
  readonly devDependencies: Pins;
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly resolved?: string }>>;
}

const versionOf = (bin: string): string => findVersion(execFileSync(bin, ['--version'], { encoding: 'utf8' })) ?? '';
const readJson = (file: string): unknown => JSON.parse(fs.readFileSync(path.join(ROOT, file), 'utf8'));
const manifest = readJson('package.json') as Manifest;
const lock = readJson('package-lock.json') as Lock;

describe('versions', () => {
  it('compares by number, not by letter', () => {
    assert.equal(atLeast('1.40.0', '1.40.0'), true);
    assert.equal(atLeast('1.9.3', '1.40.0'), false);
    assert.equal(atLeast('2.0.0', '1.40.0'), true);
    assert.equal(atLeast('v1.39.9', '1.40.0'), false);
    assert.equal(atLeast('1.40.0-dev', '1.40.0'), true);
  });

  it('takes only a Node of a kept line, from its floor on', () => {
    for (const fit of ['22.22.2', 'v24.21.0', '26.10.0']) assert.equal(isFitNode(fit), true, fit);
    for (const unfit of ['20.20.2', '22.18.0', '23.11.0', '24.14.0', '25.0.0'])
      assert.equal(isFitNode(unfit), false, unfit);
  });

  it('finds the version in what a server prints', () => {
    assert.equal(findVersion('envoy  version: abc/1.40.0/Clean/RELEASE/BoringSSL'), '1.40.0');
    assert.equal(findVersion('Redis server v=6.2.14 sha=40305114:0 malloc=libc'), '6.2.14');
    assert.equal(findVersion('no number here'), null);
  });
});

describe('packages', () => {
  it('are pinned exactly', () => {
    for (const [name, version] of Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })) {
      assert.match(version, /^\d+\.\d+\.\d+$/, `${name} ${version}`);
    }
  });

  it('are locked at their pin, without a download address', () => {
    for (const [name, version] of Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })) {
      assert.equal(lock.packages[`node_modules/${name}`]?.version, version, name);
    }
    for (const [name, entry] of Object.entries(lock.packages)) assert.equal(entry.resolved, undefined, name);
  });

  const floors: readonly (readonly [name: string, floors: Pins])[] = [
    ['@grpc/grpc-js', { 1: '1.14.4' }],
    ['protobufjs', { 7: '7.6.1', 8: '8.4.1' }],
  ];
  for (const [name, byMajor] of floors) {
    it(`install no ${name} with a known hole`, () => {
      const installed = Object.entries(lock.packages)
        .filter(([folder]) => folder.endsWith(`node_modules/${name}`))
        .map(([folder]) => (readJson(`${folder}/package.json`) as { readonly version: string }).version);
      assert.ok(installed.length > 0);
      for (const version of installed) {
        const floor = byMajor[version.split('.')[0]!];
        assert.ok(floor !== undefined && atLeast(version, floor), `${name} ${version}`);
      }
    });
  }

  it('run on a Node without the known holes', () => {
    assert.ok(isFitNode(process.versions.node), process.versions.node);
  });
});

describe('tools', () => {
  it('run TypeScript on the Node that was chosen', () => {
    assert.ok(isFitNode(versionOf(nodeBin())));
  });

  it('have an Envoy that is new enough', (t) => {
    const bin = envoyBin();
    if (bin === null) return t.skip('no Envoy on this platform');
    assert.ok(atLeast(versionOf(bin), ENVOY.floor));
  });

  it('have a Redis that is new enough', (t) => {
    const bin = redisBin();
    if (bin === null) return t.skip('no redis-server on this platform');
    assert.ok(atLeast(versionOf(bin), REDIS.floor));
  });
});

describe('the browser of tests', () => {
  it('runs with what came with it, whatever the machine has', (t) => {
    const bin = chromiumBin();
    if (bin === null) return t.skip('no browser was fetched: npm test does that');
    const alone = { HOME: '/nonexistent', PATH: '/usr/bin:/bin' };
    const said = execFileSync(bin, ['--version'], {
      encoding: 'utf8',
      env: bin.startsWith(CACHE) ? alone : process.env,
    });
    assert.match(said, /Chrom/);
  });
});

describe('cache', () => {
  const name = `test-${process.pid}`;

  it('lets one at a time in', async () => {
    let inside = 0;
    let most = 0;
    const work = async (): Promise<void> => {
      inside += 1;
      most = Math.max(most, inside);
      await new Promise((resolve) => setTimeout(resolve, 20));
      inside -= 1;
    };
    await Promise.all([withLock(name, work), withLock(name, work), withLock(name, work)]);
    assert.equal(most, 1);
    assert.equal(fs.existsSync(path.join(CACHE, `${name}.lock`)), false);
  });

  it('takes over the lock of a process that is gone', async () => {
    const gone = spawn(process.execPath, ['--version'], { stdio: 'ignore' });
    await new Promise((resolve) => gone.once('close', resolve));
    fs.writeFileSync(path.join(CACHE, `${name}.lock`), String(gone.pid));
    assert.equal(await withLock(name, async () => 'done'), 'done');
  });

  it('leaves nothing of a download that failed', async () => {
    const failing = makeFolder(name, (folder) => {
      fs.writeFileSync(path.join(folder, 'half'), '');
      throw new Error('cut');
    });
    await assert.rejects(failing, /cut/);
    assert.deepEqual(
      fs.readdirSync(CACHE).filter((entry) => entry.includes(name)),
      [],
    );
  });
});
