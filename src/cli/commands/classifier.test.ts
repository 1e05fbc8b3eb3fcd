import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { CommanderError } from 'commander';
import { goldenSamples } from '../../lib/text-classes/golden-samples.test.ts';
import type { Terminal } from '../terminal.ts';
import { UserError } from '../user-error.ts';
import { classifierCommand } from './classifier.ts';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'tokenlat-classifier-'));
after(() => fs.rmSync(dir, { recursive: true, force: true }));

const at = (name: string): string => path.join(dir, name);

/** What a command printed; throws what it threw. */
async function run(...words: readonly string[]): Promise<string> {
  return (await shown(...words)).out;
}

async function shown(...words: readonly string[]): Promise<{ readonly out: string; readonly err: string }> {
  let out = '';
  let err = '';
  const terminal = {
    out: (text: string) => (out += text),
    err: (text: string) => (err += text),
  } as unknown as Terminal;
  const command = classifierCommand(terminal);
  for (const each of [command, ...command.commands]) each.exitOverride().configureOutput({ writeErr: () => {} });
  await command.parseAsync(words, { from: 'user' });
  return { out, err };
}

function write(name: string, labelled: boolean): string {
  const lines = goldenSamples({ labelled }).map(({ text, class: given, quality }) =>
    JSON.stringify({ prompt: text, ...(given === null ? {} : { class: given }), quality: Object.fromEntries(quality) }),
  );
  fs.writeFileSync(at(name), `${lines.join('\n')}\n`);
  return at(name);
}

test('train, test and show, by classes that are given', async () => {
  const data = write('named.jsonl', true);
  const trained = await run('train', data, '--out', at('named.json'), '--bits', '10', '--penalty', '1');
  assert.match(trained, /^class +with quality +large +small\n/);
  assert.match(trained, /\nmath +64 +0\.\d{3} +0\.\d{3}\n/);
  assert.match(trained, /right class +(?:9\d|100)\.\d %\nbest single +0\.\d{3} \(large\)\nbest by class +0\.\d{3}\n/);
  assert.match(await run('show', at('named.json')), /^class +with quality/);
  assert.match(await run('show', at('named.json'), '--prompt', 'fix the bug in this python class'), /^code \(0\.\d{3}/);
  const found = JSON.parse(await run('test', at('named.json'), data, '--json')) as Record<string, number>;
  assert.equal(found['samples'], 192);
  assert.ok((found['right'] ?? 0) > 0.95 && (found['oracle'] ?? 0) >= (found['byClass'] ?? 1));
});

test('classes that are made of outcomes, as JSON', async () => {
  const words = [
    'train',
    write('judged.jsonl', false),
    '-o',
    at('judged.json'),
    '--bits',
    '10',
    '--classes',
    '3',
    '--json',
  ];
  const made = JSON.parse(await run(...words)) as { classes: string[]; bytes: number; appraisal: { right: null } };
  assert.deepEqual(made.classes, ['c1', 'c2', 'c3']);
  assert.equal(made.appraisal.right, null);
  assert.equal(fs.statSync(at('judged.json')).size, made.bytes);
});

test('a model that is learned from next to nothing is written with a warning, any other without', async () => {
  const few = at('few.jsonl');
  const line = (prompt: string, name: string): string => JSON.stringify({ prompt, class: name, quality: { small: 1 } });
  fs.writeFileSync(few, `${line('fix the bug', 'code')}\n${line('good morning', 'chat')}\n`);
  const { out, err } = await shown('train', few, '-o', at('few.json'), '--bits', '8', '--json');
  assert.equal((JSON.parse(out) as { samples: number }).samples, 2);
  assert.match(err, /^warning: classes with fewer than 20 samples, .*: chat \(1\), code \(1\)\n/);
  assert.match(err, /\nwarning: samples left out were put in their class no better than/);
  const data = write('enough.jsonl', true);
  assert.equal((await shown('train', data, '-o', at('enough.json'), '--bits', '10', '--penalty', '1')).err, '');
});

test('what is wrong is told with file and line', async () => {
  const fails = async (text: string, message: RegExp): Promise<void> => {
    fs.writeFileSync(at('bad.jsonl'), text);
    await assert.rejects(run('train', at('bad.jsonl'), '-o', at('x.json')), (error) => {
      assert.ok(error instanceof UserError);
      assert.match(error.message, message);
      return true;
    });
    assert.equal(fs.existsSync(at('x.json')), false);
  };
  await fails('{"prompt": "a", "class": "x"}\n\n{', /bad\.jsonl:3: is no JSON/);
  await fails('[]', /bad\.jsonl:1: must be an object/);
  await fails('{"prompt": ""}', /"prompt" must be a text/);
  await fails('{"prompt": "a", "class": "x y"}', /"class" must be 1 to 64/);
  await fails('{"prompt": "a", "quality": [1]}', /"quality" must be an object/);
  await fails('{"prompt": "a", "quality": {"m": 2}}', /quality of "m" must be a number from 0 to 1/);
  await fails('{"prompt": "a", "group": 1}', /"group" must be a text/);
  await fails('', /there are no samples/);
  const good = write('good.jsonl', true);
  await assert.rejects(
    run('train', good, '-o', at('no/such/x.json'), '--bits', '8'),
    (error) => error instanceof UserError,
  );
  await assert.rejects(run('show', at('none.json')), /none\.json does not exist/);
  fs.writeFileSync(at('other.json'), '{}');
  await assert.rejects(run('show', at('other.json')), /other\.json has an unfit "format"/);
  await assert.rejects(run('train', 'x', '-o', 'y', '--bits', '99'), (error) => error instanceof CommanderError);
});
