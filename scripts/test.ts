/**
 * Runs the tests: first everything that may run side by side, then what starts real servers, two files at a time, and what judges
 * times and faults alone. Tells at the end which files took longest.
 * Words that do not start with `-` filter files by a part of their path; the rest goes to `node --test` as it is.
 */
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { CACHE, ROOT } from './cache.mjs';
import { commandLine } from './command-line.mjs';

interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

interface Timed {
  readonly file: string;
  readonly ms: number;
}

interface Group {
  readonly name: string;
  readonly files: readonly string[];
  readonly concurrency: number;
  readonly timeoutMs: number;
}

const SERVERS = /^test\/(browser|e2e|fault)\//;
/** What else runs would be judged with it. */
const ALONE = /^test\/fault\/|^test\/e2e\/performance\./;
const SHOWN = 10;

const words = commandLine({
  usage: 'npm test -- [part of a path …] [options of node --test …]',
  read: (all) => all,
});
const filters = words.filter((word) => !word.startsWith('-')).map((word) => word.replace(/^\.\//, ''));
const flags = words.filter((word) => word.startsWith('-'));

const files = fs
  .globSync(['src/**/*.test.ts', 'test/**/*.test.ts', 'bench/**/*.test.ts'], { cwd: ROOT })
  .map((file) => file.split(path.sep).join('/'))
  .filter((file) => filters.length === 0 || filters.some((filter) => file.includes(filter)))
  .toSorted();

const groups: readonly Group[] = [
  {
    name: 'parallel',
    files: files.filter((file) => !SERVERS.test(file)),
    concurrency: Math.max(2, Math.min(4, os.availableParallelism())),
    timeoutMs: 300_000,
  },
  {
    name: 'servers',
    files: files.filter((file) => SERVERS.test(file) && !ALONE.test(file)),
    concurrency: 2,
    timeoutMs: 900_000,
  },
  { name: 'alone', files: files.filter((file) => ALONE.test(file)), concurrency: 1, timeoutMs: 900_000 },
];

let interrupted = false;
let total: Counts = { passed: 0, failed: 0, skipped: 0 };
const taken: Timed[] = [];
for (const group of groups) {
  if (group.files.length === 0 || interrupted) continue;
  const counts = await runGroup(group);
  total = {
    passed: total.passed + counts.passed,
    failed: total.failed + counts.failed,
    skipped: total.skipped + counts.skipped,
  };
}

const slowest = taken.toSorted((a, b) => b.ms - a.ms).slice(0, SHOWN);
if (taken.length > SHOWN) process.stdout.write(`\nslowest files\n${slowest.map(line).join('')}`);
const ran = total.passed + total.failed > 0;
if (!ran) process.stderr.write('no test ran\n');
process.stdout.write(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped\n`);
process.exitCode = ran && total.failed === 0 && !interrupted ? 0 : 1;

/** One call of the runner; a call that ends badly without counting a failure counts as one. */
async function runGroup(group: Group): Promise<Counts> {
  const report = path.join(CACHE, `test-${group.name}-${process.pid}.json`);
  const args = [
    '--test',
    `--test-concurrency=${group.concurrency}`,
    `--test-timeout=${group.timeoutMs}`,
    '--test-reporter=spec',
    '--test-reporter-destination=stdout',
    '--test-reporter=./scripts/reporter.mjs',
    `--test-reporter-destination=${report}`,
    ...flags,
    ...group.files,
  ];
  fs.mkdirSync(CACHE, { recursive: true });
  const ok = await runNode(args);
  const counts = readReport(report);
  fs.rmSync(report, { force: true });
  return ok || counts.failed > 0 ? counts : { ...counts, failed: 1 };
}

function readReport(report: string): Counts {
  const text = fs.existsSync(report) ? fs.readFileSync(report, 'utf8').trim() : '';
  if (text === '') return { passed: 0, failed: 0, skipped: 0 };
  const lines = text
    .split('\n')
    .map((each) => JSON.parse(each) as Timed | Readonly<Record<string, number | undefined>>);
  taken.push(...lines.filter((each): each is Timed => 'file' in each));
  const counts = lines.findLast((each) => !('file' in each)) as
    | Readonly<Record<string, number | undefined>>
    | undefined;
  const count = (name: string): number => counts?.[name] ?? 0;
  return {
    passed: count('passed'),
    failed: count('failed') + count('cancelled'),
    skipped: count('skipped') + count('todo'),
  };
}

function line({ file, ms }: Timed): string {
  return `${(ms / 1000).toFixed(1).padStart(8)} s  ${path.relative(ROOT, file)}\n`;
}

function runNode(args: readonly string[]): Promise<boolean> {
  return new Promise((resolve) => {
    // NODE_TEST_CONTEXT would make the runner believe that it is itself a test file of an outer runner.
    const { NODE_TEST_CONTEXT: _outer, ...env } = process.env;
    const child = spawn(process.execPath, args, { cwd: ROOT, env, stdio: ['ignore', 'inherit', 'inherit'] });
    const stop = (signal: NodeJS.Signals): void => {
      interrupted = true;
      child.kill(signal);
    };
    process.on('SIGINT', stop).on('SIGTERM', stop);
    child.once('close', (code) => {
      process.off('SIGINT', stop).off('SIGTERM', stop);
      resolve(code === 0);
    });
  });
}
