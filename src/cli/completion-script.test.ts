import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { Argument, Command, Option } from 'commander';
import { completionCommand } from './commands/completion.ts';
import { completionScript } from './completion-script.ts';
import { createProgram } from './program.ts';
import { runCommand } from './cli-kit.test.ts';

function tree(): Command {
  const root = new Command('tokenlat').option('-V, --version', 'the version');
  const keys = new Command('keys').description("clients' keys");
  keys.addCommand(new Command('list').option('--tenant <name>', 'whose').option('--json', 'print JSON'));
  keys.addCommand(
    new Command('create').addOption(new Option('--tier <tier>', 'it: $(touch x)').choices(['core', 'economy'])),
  );
  const shell = new Command('completion').addArgument(new Argument('<shell>', 'which').choices(['bash', 'zsh']));
  root.addCommand(keys).addCommand(shell).addCommand(new Command('secret'), { hidden: true });
  return root;
}

/** What bash offers for a line; its last word is being typed. */
function offered(...words: readonly string[]): readonly string[] {
  const line = ['tokenlat', ...words].map((word) => `'${word}'`).join(' ');
  const ask = `COMP_WORDS=(${line}); COMP_CWORD=${words.length}; _tokenlat; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr, status } = spawnSync('bash', ['-c', `${completionScript(tree(), 'bash')}\n${ask}`], {
    encoding: 'utf8',
  });
  assert.deepEqual([status, stderr], [0, '']);
  return stdout.split('\n').filter((word) => word !== '');
}

test('bash offers what may follow, and nothing that is hidden', () => {
  assert.deepEqual(offered(''), ['keys', 'completion']);
  assert.deepEqual(offered('k'), ['keys']);
  assert.deepEqual(offered('keys', ''), ['list', 'create']);
  assert.deepEqual(offered('keys', 'list', '--t'), ['--tenant']);
  assert.deepEqual(offered('completion', ''), ['bash', 'zsh']);
});

test('values of options are those that they have, and are no commands', () => {
  assert.deepEqual(offered('keys', 'create', '--tier', ''), ['core', 'economy']);
  assert.deepEqual(offered('keys', 'create', '--tier', 'e'), ['economy']);
  assert.deepEqual(offered('keys', 'list', '--tenant', ''), []);
  assert.deepEqual(offered('keys', 'list', '--tenant', 'create', '--j'), ['--json']);
  assert.deepEqual(offered('-V', 'keys', ''), ['list', 'create']);
});

test('zsh gets descriptions that stay text', () => {
  const script = completionScript(tree(), 'zsh');
  assert.match(script, /^#compdef tokenlat\n/);
  assert.ok(script.includes(`'keys:clients'\\'' keys'`));
  assert.ok(script.includes(`'--tier:it: $(touch x)'`));
  assert.ok(script.includes(`'tokenlat keys create --tier') compadd -- 'core' 'economy'; return ;;`));
});

test('every command of the program and its options are offered, though none was loaded', () => {
  const script = completionScript(createProgram(), 'bash');
  const places = new Map(
    [...script.matchAll(/^ {4}'([^']+)'\) plain='([^']*)'; dashed='([^']*)' ;;$/gm)].map(
      ([, at = '', plain, dashed]) => [at, { plain: (plain ?? '').split(' '), dashed: (dashed ?? '').split(' ') }],
    ),
  );
  const offers = (at: string, kind: 'plain' | 'dashed', ...words: readonly string[]): void => {
    for (const word of words) assert.ok(places.get(at)?.[kind].includes(word), `${at} ${word}`);
  };
  offers('tokenlat', 'plain', 'up', 'serve', 'live', 'audit', 'quota', 'completion');
  offers('tokenlat audit', 'plain', 'verify', 'export', 'show', 'list');
  offers('tokenlat audit list', 'dashed', '--kind', '--from', '--to', '--number', '-n');
  offers('tokenlat quota show', 'dashed', '--line', '--key', '--subject', '--model', '--watch');
  for (const at of ['live', 'top', 'cost report', 'budget list'])
    offers(`tokenlat ${at}`, 'dashed', '--watch', '--csv');
  assert.match(script, /'tokenlat audit list --kind'\) COMPREPLY=\(\$\(compgen -W 'request admin system'/);
});

test('the command prints the script of the tree that it stands in', async () => {
  const root = tree();
  const { out, error } = await runCommand((terminal) => completionCommand(root, terminal), ['bash']);
  assert.deepEqual([error, out], [null, completionScript(root, 'bash')]);
  assert.equal(
    (await runCommand((terminal) => completionCommand(root, terminal), ['fish'])).error?.name,
    'CommanderError',
  );
});
