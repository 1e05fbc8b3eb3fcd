/** `npm run sim`: ways to choose a host, on recorded traffic, in virtual time. See docs/routing-simulation.md. */
import fs from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { commandLine, positive, refuseUnknown } from '../../scripts/command-line.mjs';
import { tokenlat } from './policies/tokenlat.ts';
import { markdown, type Findings } from './report/markdown.ts';
import type { Sheet } from './report/sheet.ts';
import { svg } from './report/svg.ts';
import { terminal } from './report/terminal.ts';
import { SCENARIOS } from './scenarios/all.ts';
import type { Scenario } from './scenarios/scenario.ts';

const DOCS = path.join(import.meta.dirname, '../../docs');
const IMAGES = path.join(DOCS, 'images');
const SEEDS = 5;
const IDS = SCENARIOS.map(({ id }) => id);

const { only, count, noWrite } = commandLine({
  usage: `npm run sim -- [--only ${IDS.join(',')}] [--seeds ${SEEDS}] [--no-write]`,
  read: readOptions,
});

function readOptions(args: string[]) {
  const { values } = parseArgs({
    args,
    options: {
      only: { type: 'string' },
      seeds: { type: 'string', default: String(SEEDS) },
      'no-write': { type: 'boolean', default: false },
    },
  });
  const wanted = values.only?.split(',');
  refuseUnknown('--only', wanted ?? [], IDS);
  return { only: wanted, count: positive('--seeds', values.seeds), noWrite: values['no-write'] };
}

function main(): void {
  const seeds = Array.from({ length: count }, (_, at) => at + 1);
  const chosen = SCENARIOS.filter(({ id }) => only === undefined || only.includes(id));
  const sheets = chosen.flatMap((scenario) => sheetsOf(scenario, seeds));
  const gates = sheets.flatMap((sheet) => sheet.gates);
  const broken = gates.filter(({ isKept }) => !isKept).length;
  process.stdout.write(`\n${gates.length - broken} gates kept, ${broken} broken\n`);
  if (broken > 0) process.exitCode = 1;
  if (noWrite || only !== undefined || count !== SEEDS) return;
  write({ ours: tokenlat.name, seeds, sheets });
}

function sheetsOf(scenario: Scenario, seeds: readonly number[]): readonly Sheet[] {
  const startedAt = performance.now();
  let runs = 0;
  const sheets = scenario.run({
    ours: tokenlat,
    seeds,
    progress: (policy) => {
      runs += 1;
      say(`${scenario.id}: ${policy}, run ${runs}`);
    },
  });
  say('');
  for (const sheet of sheets) process.stdout.write(terminal(sheet));
  process.stdout.write(`(${runs} runs in ${((performance.now() - startedAt) / 1000).toFixed(1)} s)\n`);
  return sheets;
}

/** The last line of a terminal; nothing where there is none, so that logs stay short. */
function say(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
}

function write(findings: Findings): void {
  fs.mkdirSync(IMAGES, { recursive: true });
  for (const { plots } of findings.sheets)
    for (const plot of plots) fs.writeFileSync(path.join(IMAGES, plot.file), svg(plot, findings.ours));
  // The pictures hold the lines; the JSON is for figures.
  const withoutLines = findings.sheets.map((sheet) => ({
    ...sheet,
    plots: sheet.plots.map((plot) => ({ ...plot, lines: [] })),
  }));
  fs.writeFileSync(
    path.join(DOCS, 'routing-simulation.json'),
    `${JSON.stringify({ ...findings, sheets: withoutLines }, null, 2)}\n`,
  );
  fs.writeFileSync(path.join(DOCS, 'routing-simulation.md'), markdown(findings));
  process.stdout.write(
    'wrote docs/routing-simulation.md, docs/routing-simulation.json and docs/images/routing-*.svg\n',
  );
}

main();
