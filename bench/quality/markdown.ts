import { written, type Sheet } from '../sim/report/sheet.ts';
import { OURS } from './pair-sheet.ts';
import type { Source } from './sources.ts';

/** Times of a classification, milliseconds. */
export interface Timing {
  readonly text: string;
  readonly outputs: number;
  readonly medianMs: number;
  readonly p99Ms: number;
}

export interface QualityFindings {
  readonly sheets: readonly Sheet[];
  readonly timings: readonly Timing[];
  readonly sources: readonly Source[];
  readonly machine: string;
}

/** `docs/quality.md`. */
export function markdown({ sheets, timings, sources, machine }: QualityFindings): string {
  const gates = sheets.flatMap(({ title, gates: each }) => each.map((gate) => ({ title, ...gate })));
  return [
    '# Quality by class, measured',
    '',
    'Made by `npm run quality` from [quality.json](quality.json); changes made here are lost. How classes are used is in [routing](routing.md#classes).',
    '',
    'Recorded answers of models to public questions say how good each was at each. A classifier learns classes from some of the questions, and routes the others by its class',
    `alone: the quality of models by class, drawn to each model's mean where a class is small. **${OURS}** is the classifier of this repository as \`tokenlat classifier train\` makes it,`,
    'with its usual settings, read from the file that it wrote. It sees the text of a question and nothing else.',
    '',
    '*CPT50* and *CPT80*: the share of questions that the strong model must get to recover 50 % and 80 % of what it is better by. *APGR*: the mean part recovered over all shares;',
    '0.5 is chance. Figures of cross-validation are by five folds, means over the seeds 1, 2, 3.',
    '',
    '| question | gate | limit | measured | |',
    '| --- | --- | --: | --: | --- |',
    ...gates.map(
      ({ title, what, limit, value, isKept, digits }) =>
        `| ${title} | ${what} | ${limit.toFixed(digits)} | ${value.toFixed(digits)} | ${isKept ? 'kept' : '**broken**'} |`,
    ),
    '',
    ...sheets.flatMap(section),
    '## Time',
    '',
    `Time to classify one text, in one process after a warm-up; ${machine}. The p99 has in it what else the machine did.`,
    '',
    '| text | outputs of the model | median ms | p99 ms |',
    '| --- | --: | --: | --: |',
    ...timings.map(
      ({ text, outputs, medianMs, p99Ms }) => `| ${text} | ${outputs} | ${medianMs.toFixed(3)} | ${p99Ms.toFixed(3)} |`,
    ),
    '',
    '## Data',
    '',
    'None of it is part of this repository: the program fetches it, or takes it from `--data DIR`, and checks the SHA-256 of each file.',
    '',
    ...sources.map(
      ({ name, repository, commit, licence }) =>
        `- **${name}**: https://github.com/${repository} at \`${commit.slice(0, 12)}\`, ${licence}.`,
    ),
    '',
  ].join('\n');
}

function section({ title, about, columns, rows, plots }: Sheet): readonly string[] {
  return [
    `## ${title}`,
    '',
    about,
    '',
    `| | ${columns.map((column) => column.title).join(' | ')} |`,
    `| --- | ${columns.map(() => '--:').join(' | ')} |`,
    ...rows.map(({ policy, figures }) => {
      const name = policy.startsWith(OURS) ? `**${policy}**` : policy;
      const cells = columns.map(({ key, digits }) => (figures[key] === undefined ? '' : written(figures[key], digits)));
      return `| ${name} | ${cells.join(' | ')} |`;
    }),
    '',
    ...plots.flatMap(({ file, title: words }) => [`![${words}](images/${file})`, '']),
  ];
}
