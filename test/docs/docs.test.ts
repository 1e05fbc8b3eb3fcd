import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { Command } from 'commander';
import { Registry } from 'prom-client';
import { generatedPages } from '../../scripts/docs/generated-pages.ts';
import { ROOT } from '../../scripts/cache.mjs';
import { ConfigError } from '../../src/app/config-error.ts';
import { load } from '../../src/app/load.ts';
import { createProgram } from '../../src/cli/program.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { EXAMPLE_ENV } from '../render/generated.ts';
import { anchors, blocks, commands, links, markdownFiles, read } from './readme.ts';

Object.assign(process.env, EXAMPLE_ENV);
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'tokenlat-docs-'));
after(() => fs.rmSync(dir, { recursive: true }));

test('the generated pages are what the code makes of them', () => {
  for (const [name, text] of generatedPages()) {
    assert.equal(read(name), text, `${name}: run node scripts/docs/main.ts`);
  }
});

test('every link between files of the project leads somewhere', () => {
  const files = markdownFiles();
  assert.ok(files.includes('README.md') && files.includes('docs/errors.md') && files.length > 20, files.join(' '));
  const broken: string[] = [];
  for (const file of files) {
    for (const link of links(read(file))) {
      if (/^[a-z]+:/.test(link)) continue;
      const [target = '', anchor] = link.split('#');
      const place = target === '' ? file : path.posix.join(path.posix.dirname(file), target);
      const exists = fs.existsSync(path.join(ROOT, place));
      if (!exists || (anchor !== undefined && !anchors(read(place)).has(anchor))) broken.push(`${file}: ${link}`);
    }
  }
  assert.deepEqual(broken, []);
});

test('every page and every whole example is found from the list of its kind', () => {
  const files = markdownFiles().filter((name) => /^docs\/[^/]+\.md$/.test(name) && name !== 'docs/README.md');
  const listed = new Set(links(read('docs/README.md')));
  assert.deepEqual(
    files.filter((name) => !listed.has(path.posix.basename(name))),
    [],
  );
  const examples = fs.globSync(['examples/*.yaml', 'examples/*/tokenlat.yaml'], { cwd: ROOT });
  assert.ok(examples.length >= 5, examples.join(' '));
  const named = new Set(links(read('docs/configuration.md')));
  assert.deepEqual(
    examples.filter((name) => !named.has(`../${name.split(path.sep).join('/')}`)),
    [],
  );
});

test('no list is torn apart by an empty line before its last entry', () => {
  assert.doesNotMatch(read('README.md'), /^- .*\n(?: {2}.*\n)*\n- /m);
});

const COMMANDS = createProgram().commands;

test('every command that the pages show is one that there is, with its options', () => {
  const pages = ['README.md', 'CONTRIBUTING.md', ...markdownFiles().filter((name) => name.startsWith('docs/'))];
  const shown = pages.flatMap((name) => commands(read(name)));
  const names = new Set(shown.map(({ words }) => words.join(' ')));
  for (const name of ['up', 'serve', 'config check', 'envoy render', 'doctor', 'token', 'trace'])
    assert.ok(names.has(name), name);
  for (const { words, options, text } of shown) {
    const command = findCommand(words);
    assert.ok(command !== null, `there is no such command: ${text}`);
    const known = command.options.flatMap(({ short, long }) => [short, long]);
    for (const option of options) assert.ok(known.includes(option), `${text}: there is no option ${option}`);
  }
});

test('the commands looked at are those of the program', () => {
  const { status, stdout } = spawnSync(process.execPath, [path.join(ROOT, 'src/cli/main.ts'), '--help'], {
    encoding: 'utf8',
  });
  assert.equal(status, 0);
  const listed = [...stdout.matchAll(/^ {2}([a-z]+)(?: |$)/gm)]
    .map((match) => match[1] ?? '')
    .filter((name) => name !== 'help');
  assert.deepEqual(listed.toSorted(), COMMANDS.map((command) => command.name()).toSorted());
});

function findCommand(words: readonly string[]): Command | null {
  let found: Command | undefined;
  for (const word of words) {
    // What follows the last command are its arguments.
    if (found !== undefined && found.registeredArguments.length > 0) return found;
    const next: readonly Command[] = found === undefined ? COMMANDS : found.commands;
    found = next.find((command) => command.name() === word);
    if (found === undefined) return null;
  }
  return found ?? new Command();
}

test('operations.md says how every command exits, and of no other', () => {
  const leaves = (command: Command, above: readonly string[]): readonly string[] => {
    const path = [...above, command.name()];
    const own = command.commands.length === 0 || command.registeredArguments.length > 0 ? [path.join(' ')] : [];
    return [...own, ...command.commands.flatMap((child) => leaves(child, path))];
  };
  const [, section = ''] = read('docs/operations.md').split('| command | exits with |');
  const rows = (section.split('\n\n')[0] ?? '').split('\n').map((line) => line.split('|')[1] ?? '');
  const told = rows.flatMap((cell) => [...cell.matchAll(/`([a-z -]+)`/g)].map(([, name = '']) => name));
  assert.deepEqual(told.toSorted(), COMMANDS.flatMap((command) => leaves(command, [])).toSorted());
});

test('every npm script that the pages name is one that there is', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  for (const file of ['README.md', 'CONTRIBUTING.md', 'docs/operations.md']) {
    for (const [, name = ''] of read(file).matchAll(/npm (?:run (?:--silent )?)?([a-z:]+)/g)) {
      if (name === 'packages' || name === 'package') continue;
      assert.ok(name in scripts, `${file}: npm ${name}`);
    }
  }
});

test('the YAML of the README is fit to run', () => {
  const found = blocks(read('README.md'), 'yaml');
  assert.ok(found.length >= 2);
  for (const text of found) assert.deepEqual(problemsOf(text), [], text);
  assert.ok((found[0]?.split('\n').length ?? 0) <= 17, 'the first one is short');
});

test('the check of that YAML can fail', () => {
  assert.notDeepEqual(problemsOf((blocks(read('README.md'), 'yaml')[0] ?? '').replace('listen:', 'lisen:')), []);
});

function problemsOf(text: string): readonly string[] {
  const file = path.join(dir, 'tokenlat.yaml');
  fs.writeFileSync(file, text);
  try {
    load(file);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return [error.message];
    throw error;
  }
}

test('every file of src that ARCHITECTURE.md names exists', () => {
  const named = [...read('ARCHITECTURE.md').matchAll(/`([a-z-]+(?:\/[a-z-]+)*\/[a-z-]+\.ts)`/g)].map(
    (match) => match[1] ?? '',
  );
  assert.ok(named.length > 15, named.join(' '));
  assert.deepEqual(
    named.filter((name) => !fs.existsSync(path.join(ROOT, name.startsWith('src/') ? '' : 'src', name))),
    [],
  );
});

test('operations.md names every metric', async () => {
  const metrics = createMetrics({ labelValues: 10, registry: new Registry() });
  const page = read('docs/operations.md');
  for (const { name } of await metrics.registry.getMetricsAsJSON()) assert.ok(page.includes(`\`${name}\``), name);
  metrics.close();
});

test('the pages speak of the project alone', () => {
  for (const file of markdownFiles()) {
    const text = read(file);
    assert.doesNotMatch(text, /\/work\/|\/tmp\/|\bTODO\b|\bFIXME\b/, file);
  }
});
