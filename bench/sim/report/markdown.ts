import { written, type Gate, type Sheet } from './sheet.ts';

/** What a run found; docs/routing-simulation.json. Without the lines of the plots, which are drawn already. */
export interface Findings {
  readonly ours: string;
  readonly seeds: readonly number[];
  readonly sheets: readonly Sheet[];
}

const INTRODUCTION = `# Routing, simulated

Made by \`npm run sim\` from [routing-simulation.json](routing-simulation.json); changes made here are lost. The same seeds give the same figures again.

TokenLat's own decision (\`src/routing\`) chooses hosts for recorded traffic, beside other ways to choose. Time is virtual, so that an hour of
traffic on eight hosts takes part of a second. Nothing here is a measurement of a GPU: it tells how policies compare under one model of a host.

**A host** runs up to 32 requests at once; further ones wait, first come, first served. A prompt is read at 8,000 tokens a second when the host is
idle, down to two thirds of that when it is full. Then every request of the batch gets a token each 25 ms on an idle host, and each 50 ms on a full one,
linear in between. A fault changes the pace of all that runs there, at once. A request that fails before its first token is tried on
another host, three tries in all.

**Traffic**: conversations of the Azure LLM inference trace 2023 (CC-BY 4.0, [source](../test/fixtures/traces/azure-llm-2023/SOURCE.md)) with their times
made shorter, or, where a host is ill, sizes drawn from them at random moments; and the Mooncake conversation trace (Apache-2.0,
[source](../test/fixtures/traces/mooncake-conversation/SOURCE.md)) with the hashes of its prompts' blocks.

**Policies.** *Polled* takes the host with the fewest requests by a metrics page that is read every so often. *Least in flight* and *two choices*
count what they sent themselves; *configured* means that an operator told them the hosts' speeds. *Completion average* multiplies that count by a moving
average of how long answers took. *Hash*, *max prefix*, *prefix 3 : load 2* and *gated prefix* look at the prompt's blocks, *gated warm* at the
model, as **TokenLat** does where there are such (\`models[].affinity\`). It is told how many requests a host takes at once (\`limits.concurrency\`) and, as those are,
how many blocks or models it keeps; nothing of speeds or faults.
`;

const HOW = `## How to repeat

\`\`\`sh
npm run sim                                   # everything; writes this page, its JSON and its pictures
npm run sim -- --only mixed-hosts --no-write  # one scenario
npm run sim -- --seeds 1 --no-write           # one seed
\`\`\`

It ends with status 1 when a gate is broken.
`;

/** The findings as docs/routing-simulation.md. */
export function markdown({ ours, seeds, sheets }: Findings): string {
  return [
    INTRODUCTION,
    `Figures are means over the seeds ${seeds.join(', ')}, unless their column says otherwise.\n`,
    '## Gates\n',
    'What TokenLat has to keep.\n',
    gateTable(sheets),
    ...sheets.map((sheet) => section(sheet, ours)),
    HOW,
  ].join('\n');
}

function gateTable(sheets: readonly Sheet[]): string {
  const line = (sheet: Sheet, { what, value, limit, isKept, digits }: Gate): string =>
    `| ${sheet.title} | ${what} | ${written(limit, digits)} | ${written(value, digits)} | ${isKept ? 'kept' : '**BROKEN**'} |`;
  return [
    '| scenario | gate | limit | TokenLat | |',
    '| --- | --- | --: | --: | --- |',
    ...sheets.flatMap((sheet) => sheet.gates.map((gate) => line(sheet, gate))),
    '',
  ].join('\n');
}

function section({ title, about, columns, rows, plots }: Sheet, ours: string): string {
  const bold = (policy: string, cell: string): string => (policy === ours ? `**${cell}**` : cell);
  return [
    `## ${title}\n`,
    `${about}\n`,
    `| policy | ${columns.map((column) => column.title).join(' | ')} |`,
    `| --- |${' --: |'.repeat(columns.length)}`,
    ...rows.map(({ policy, figures }) => {
      const cells = columns.map(({ key, digits }) => bold(policy, written(figures[key] ?? NaN, digits)));
      return `| ${bold(policy, policy)} | ${cells.join(' | ')} |`;
    }),
    '',
    ...plots.map((plot) => `![${plot.title}](images/${plot.file})\n`),
  ].join('\n');
}
