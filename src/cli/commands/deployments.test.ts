import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ApiError } from '../api-error.ts';
import { cliKit, runCommand } from '../cli-kit.test.ts';
import { UserError, WordsError } from '../user-error.ts';
import { rolloutCommand } from './config-rollout.ts';
import { deploymentsCommand, parsePercent } from './deployments.ts';
import { pickerCommand } from './picker.ts';

const kit = await cliKit();
const file = join(tmpdir(), `tl-candidate-${process.pid}.yaml`);
writeFileSync(file, 'version: 1\n');

test('stages are led forward, and who wants back hears why, with 6', async () => {
  const done = await kit.run(deploymentsCommand, ['stage', 'm@b', 'retired']);
  assert.match(done.out, /^stage +retired$/m);
  const { error } = await kit.run(deploymentsCommand, ['stage', 'm@b', 'full']);
  assert.ok(error instanceof ApiError);
  assert.deepEqual([error.code, error.exitCode], ['conflict', 6]);
  const again = await kit.run(deploymentsCommand, ['stage', 'm@b', 'gray', '--percent', '5%', '--json']);
  assert.deepEqual([again.json()['stage'], again.json()['percent']], ['gray', 5]);
  assert.match((await kit.run(deploymentsCommand, ['list'])).out, /m@b +hot +gray +5 +full +2/);
});

test('percentages are numbers from 0 to 100', () => {
  assert.deepEqual(['5', '0.5', '100%'].map(parsePercent), [5, 0.5, 100]);
  for (const wrong of ['101', '-1', 'x', '5 %', '']) assert.throws(() => parsePercent(wrong), /0 to 100/);
});

test('a roll-out is looked at, begun, asked for, promoted and aborted', async () => {
  const start = [file, '--percent', '5', '--for', '30m'];
  const dry = await kit.run(rolloutCommand, [...start, '--dry-run']);
  assert.match(dry.out, /^status +dry_run$/m);
  assert.match(
    dry.out,
    /differs in\n {2}routes: tried on a part of the requests\n {2}timeouts: in force when it serves all/,
  );
  const begun = await kit.run(rolloutCommand, [...start, '--max-error-increase', '1', '--min-samples', '50']);
  assert.match(begun.out, /^status +running$/m);
  const record = await kit.directory.get('rollout', 'current');
  assert.ok(record !== null);
  assert.deepEqual(
    [record.text, record.endAt - record.startAt, record.criteria],
    ['version: 1\n', 1_800_000, { errorIncrease: 0.01, p95Ratio: 1.2, minSamples: 50 }],
  );
  const shown = await kit.run(rolloutCommand, ['status', '--json']);
  assert.deepEqual(shown.json()['verdict'], { kind: 'unclear', words: 'too few requests' });
  const verdict = (await kit.run(rolloutCommand, ['status'])).out;
  assert.match(verdict, /^verdict +unclear: too few requests$/m);
  assert.match((await kit.run(rolloutCommand, ['promote'])).out, /^status +promoted$/m);
  assert.match((await kit.run(rolloutCommand, ['abort'])).out, /^status +aborted$/m);
});

test('a roll-out without its terms, or of a file that is not there, is not begun', async () => {
  for (const [args, says] of [
    [[], /name the new configuration/],
    [[file], /--percent and --for/],
    [[`${file}.none`, '--percent', '5', '--for', '1m'], /cannot read/],
  ] as const)
    assert.match((await kit.run(rolloutCommand, [...args])).error?.message ?? '', says);
});

test('words that cannot be meant are told from what went wrong', async () => {
  const { error: bare } = await kit.run(rolloutCommand, [file]);
  assert.ok(bare instanceof WordsError);
  const { error: listen } = await runCommand(pickerCommand, ['--listen', '9002']);
  assert.ok(listen instanceof WordsError);
  const { error: lost } = await kit.run(rolloutCommand, [`${file}.none`, '--percent', '5', '--for', '1m']);
  assert.ok(!(lost instanceof WordsError));
});

test('where nothing is rolled out that is said, and how it begins', async () => {
  const fresh = await cliKit();
  for (const word of ['status', 'abort', 'promote']) {
    const { error } = await fresh.run(rolloutCommand, [word]);
    assert.ok(error instanceof UserError && !(error instanceof WordsError), word);
    assert.match(error.message, /^no configuration is rolled out: config rollout FILE/);
  }
});
