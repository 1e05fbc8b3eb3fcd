import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { copyFileSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import * as fc from 'fast-check';
import { canonicalJson } from '../lib/jcs/canonical-json.ts';
import { entry, kinds, PUBLIC_KEY, rig } from './audit-kit.test.ts';
import type { Rig } from './audit-kit.test.ts';
import { openCheckpoint, signCheckpoint } from './checkpoint.ts';
import { frameOf } from './frame.ts';

/** A closed chain of `count` requests; 400 bytes a record, in segments of 16 KiB. */
async function written(r: Rig, count = 100, segmentBytes = 16 * 1024): Promise<void> {
  const log = r.open({ segmentBytes });
  for (let n = 0; n < count; n += 1) {
    log.append(entry(n));
    if (n % 20 === 19) await log.flush(5000);
  }
  await log.close();
  await sleep(2);
}

const chainOf = (r: Rig): string => r.segments()[0]?.slice(0, -11) ?? '';

/** A line with other facts and a hash that fits. */
function forged(line: string, from: string, to: string): string {
  return frameOf(line.slice(74).replace(from, to)).line.slice(0, -1);
}

type Tamper = readonly [name: string, change: (lines: string[]) => string[], expected: readonly string[]];

const swap = (lines: string[], a: number, b: number): string[] =>
  lines.map((line, at) => (at === a ? lines[b]! : at === b ? lines[a]! : line));

/** Segment 1 holds records 1, 2, 3 …; line 10 is record 11. */
const TAMPERS: readonly Tamper[] = [
  ['edit', (lines) => lines.with(10, lines[10]!.replace('"status":200', '"status":500')), ['altered@11']],
  [
    'edit with a new hash',
    (lines) => lines.with(10, forged(lines[10]!, '"status":200', '"status":500')),
    ['unlinked@12'],
  ],
  [
    'edit of white space, with a new hash',
    (lines) => lines.with(10, forged(lines[10]!, '"status":200', '"status": 200')),
    ['altered@11'],
  ],
  ['delete', (lines) => lines.toSpliced(10, 1), ['missing@11']],
  ['cut in the middle', (lines) => lines.toSpliced(10, 7), ['missing@11']],
  ['swap of neighbours', (lines) => swap(lines, 10, 11), ['missing@11', 'out_of_order@11']],
  ['swap from afar', (lines) => swap(lines, 10, 20), ['missing@11', 'out_of_order@12', 'out_of_order@13']],
  ['duplicate', (lines) => lines.toSpliced(10, 0, lines[9]!), ['duplicate@10']],
  ['duplicate from afar', (lines) => lines.toSpliced(10, 0, lines[4]!), ['out_of_order@5']],
  [
    'insert of a copy under the next number',
    (lines) => lines.toSpliced(10, 0, forged(lines[9]!, '"seq":10', '"seq":11')),
    ['unlinked@11', 'out_of_order@11'],
  ],
  ['insert of bytes', (lines) => lines.toSpliced(10, 0, 'not a record'), ['altered@11']],
  ['empty line', (lines) => lines.toSpliced(10, 0, ''), ['altered@11']],
  ['another chain’s record', (lines) => lines.toSpliced(10, 0, forged(lines[10]!, '-0-', '-1-')), ['foreign@11']],
  ['first record away', (lines) => lines.slice(1), ['wrong_index', 'missing@1']],
];

for (const [name, change, expected] of TAMPERS) {
  test(`finds: ${name}`, async () => {
    const r = rig();
    await written(r);
    assert.deepEqual(kinds(await r.verify()), []);
    const file = r.segments()[0]!;
    r.write(file, change(r.lines(file)));
    const report = await r.verify();
    assert.equal(report.ok, false);
    const found = kinds(report);
    assert.deepEqual(found.slice(0, expected.length), expected);
    r.clean();
  });
}

test('any one byte changed, or any one line gone, is found', async () => {
  const r = rig();
  await written(r, 30, 1024 * 1024);
  const path = join(r.dir, r.segments()[0]!);
  const whole = readFileSync(path);
  const lines = r.lines(r.segments()[0]!);
  const change = fc.record({ at: fc.nat(whole.length - 1), flip: fc.integer({ min: 1, max: 255 }) });
  await fc.assert(
    fc.asyncProperty(change, async ({ at, flip }) => {
      const bytes = Buffer.from(whole);
      bytes[at]! ^= flip;
      writeFileSync(path, bytes);
      assert.equal((await r.verify()).ok, false);
    }),
    { numRuns: 150 },
  );
  for (let at = 0; at < lines.length; at += 1) {
    r.write(r.segments()[0]!, lines.toSpliced(at, 1));
    assert.equal((await r.verify()).ok, false, `line ${at}`);
  }
  r.clean();
});

test('a tail cut below the last checkpoint is found for every length', async () => {
  const r = rig();
  await written(r, 30, 1024 * 1024);
  const file = r.segments()[0]!;
  const lines = r.lines(file);
  for (let kept = 0; kept < lines.length; kept += 1) {
    r.write(file, lines.slice(0, kept));
    assert.deepEqual(kinds(await r.verify()).at(-1), `cut_tail@${kept + 1}`);
  }
  r.clean();
});

test('a rewritten rest of the chain, hashes and all, is found by the checkpoint', async () => {
  const r = rig();
  await written(r, 30, 1024 * 1024);
  const file = r.segments()[0]!;
  const lines = r.lines(file);
  let prev = lines[9]!.slice(9, 73);
  const rewritten = lines.map((line, at) => {
    if (at < 10) return line;
    const body = JSON.parse(line.slice(74)) as { facts: { status?: number } };
    const next = frameOf(
      canonicalJson({ ...body, prev, facts: { ...body.facts, ...(at === 10 ? { status: 500 } : {}) } }),
    );
    prev = next.hash;
    return next.line.slice(0, -1);
  });
  r.write(file, rewritten);
  assert.deepEqual(kinds(await r.verify()), ['rewritten@21', 'rewritten@32']);
  r.clean();
});

test('missing and swapped segments are found', async () => {
  const r = rig();
  await written(r, 200);
  const [first, second, third] = r.segments() as [string, string, string];
  const keep = (file: string): string => join(r.dir, `${file}.kept`);
  renameSync(join(r.dir, second), keep(second));
  assert.deepEqual(kinds(await r.verify()).slice(0, 1), ['missing_segment']);
  copyFileSync(join(r.dir, third), join(r.dir, second));
  assert.equal((await r.verify()).ok, false);
  renameSync(keep(second), join(r.dir, second));
  assert.equal((await r.verify()).ok, true);
  renameSync(join(r.dir, first), join(r.dir, `a${first.slice(chainOf(r).length)}`));
  assert.deepEqual(kinds(await r.verify()), ['stray_file', 'missing@1']);
  r.clean();
});

test('a whole chain that is gone is found by its checkpoint, and by the chain that follows it', async () => {
  const r = rig();
  await written(r, 10);
  const chain = chainOf(r);
  await written(r, 10);
  rmSync(join(r.dir, `${chain}.000001.log`));
  assert.deepEqual(kinds(await r.verify()), ['missing_chain']);
  rmSync(join(r.dir, '..', 'checkpoints', `${chain}.checkpoints`));
  assert.deepEqual(kinds(await r.verify()), ['missing_chain']);
  r.clean();
});

test('a chain that follows proves the end of the one before it, checkpoint or not', async () => {
  const r = rig();
  await written(r, 30, 1024 * 1024);
  const chain = chainOf(r);
  await written(r, 10);
  const checkpoints = join(r.dir, '..', 'checkpoints', `${chain}.checkpoints`);
  const [first = ''] = readFileSync(checkpoints, 'utf8').split('\n');
  writeFileSync(checkpoints, `${first}\n`);
  const report = await r.verify();
  assert.deepEqual([report.ok, report.chains[0]?.proven, report.chains[0]?.unproven], [true, 32, 0]);
  const file = `${chain}.000001.log`;
  rmSync(join(r.dir, `${chain}.000001.index.json`));
  r.write(file, r.lines(file).slice(0, -2));
  assert.deepEqual(kinds(await r.verify()), ['cut_tail@31']);
  r.clean();
});

test('records added at the end of a chain that is over are found', async () => {
  const r = rig();
  await written(r, 10);
  const file = r.segments()[0]!;
  await written(r, 10);
  rmSync(join(r.dir, file.replace('.log', '.index.json')));
  const lines = r.lines(file);
  const last = JSON.parse(lines.at(-1)!.slice(74)) as { seq: number };
  const added = frameOf(canonicalJson({ ...last, seq: last.seq + 1, prev: lines.at(-1)!.slice(9, 73) }));
  r.write(file, [...lines, added.line.slice(0, -1)]);
  assert.deepEqual(kinds(await r.verify()), ['unlinked@13']);
  r.clean();
});

test('forged, foreign and altered checkpoints are found', async () => {
  const r = rig();
  await written(r, 10);
  const chain = chainOf(r);
  const [store] = r.stores;
  const [text = ''] = (await store?.list(chain)) ?? [];
  const opened = openCheckpoint(text, [PUBLIC_KEY]);
  assert.ok('checkpoint' in opened);
  const other = generateKeyPairSync('ed25519').privateKey;
  const path = join(r.dir, '..', 'checkpoints', `${chain}.checkpoints`);
  const good = readFileSync(path, 'utf8');
  const bad = [
    signCheckpoint(opened.checkpoint, other),
    text.replace('"seq":1', '"seq":2').replace('"count":1', '"count":2'),
    text.replace(/"signature":"..../, '"signature":"AAAA'),
    '{"a":1}',
    '{}',
  ];
  for (const line of bad) {
    writeFileSync(path, `${good}${line}\n`);
    assert.deepEqual(kinds(await r.verify()), ['forged_checkpoint'], line);
  }
  writeFileSync(path, good);
  writeFileSync(join(r.dir, '..', 'checkpoints', `${chain.replace('-0-', '-1-')}.checkpoints`), good);
  assert.ok(kinds(await r.verify()).every((kind) => kind === 'forged_checkpoint'));
  r.clean();
});

test('a log whose checkpoints are all gone is not taken for a good one', async () => {
  const r = rig();
  await written(r, 10);
  rmSync(join(r.dir, '..', 'checkpoints'), { recursive: true });
  assert.deepEqual(kinds(await r.verify()), ['no_checkpoint']);
  r.clean();
});

test('an index that would hide records from an export is found', async () => {
  const r = rig();
  await written(r, 10);
  const path = join(r.dir, `${chainOf(r)}.000001.index.json`);
  writeFileSync(path, readFileSync(path, 'utf8').replace(/"latest":\d+/, '"latest":5'));
  assert.deepEqual(kinds(await r.verify()), ['wrong_index']);
  r.clean();
});

test('a log is verified while it is written', async () => {
  const r = rig();
  const log = r.open({ segmentBytes: 64 * 1024, checkpoint: { everyMs: 5, records: 50 } });
  const until = performance.now() + 600;
  let n = 0;
  const writing = (async () => {
    while (performance.now() < until) {
      for (let i = 0; i < 50; i += 1) log.append(entry((n += 1)));
      await sleep(1);
    }
  })();
  while (performance.now() < until) {
    const report = await r.verify(Date.now());
    assert.equal(report.ok, true, JSON.stringify(report.findings));
  }
  await writing;
  await log.close();
  assert.equal((await r.verify()).ok, true);
  r.clean();
});
