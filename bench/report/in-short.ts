import type { Spread } from './results.ts';

type Figures = Readonly<Record<string, Spread>>;

const PROXIES = [
  ['litellm', 'LiteLLM'],
  ['portkey', 'Portkey'],
  ['nullplatform', 'nullplatform’s gateway'],
] as const;

/** What the page begins with: the figures that matter most in plain words, a list entry each. Empty where none was measured. */
export function inShort(figures: Figures): string {
  const lines = [addedTime(figures), extProcCpu(figures), wholeCpu(figures)].filter((line) => line !== null);
  return lines.map((line) => `- ${line}\n`).join('');
}

function addedTime(figures: Figures): string | null {
  const added = figures['direct.added_p50_ms'];
  if (added === undefined) return null;
  const echo = figures['direct.echo_added_p50_ms'];
  const floor =
    echo === undefined ? '' : `; Envoy with a bare ext_proc server that decides nothing adds ${said(echo)} ms`;
  return `At 100 requests a second TokenLat, Envoy included, adds ${said(added)} ms to the median answer${floor}.`;
}

function extProcCpu(figures: Figures): string | null {
  const parts = [
    ['plain', 'plain chat'],
    ['stream100', 'a stream of 100 chunks'],
  ].flatMap(([workload, title]) => {
    const all = figures[`envoy_ai_gateway.ext_proc_cpu_${workload}`];
    const minimal = figures[`envoy_ai_gateway.ext_proc_cpu_${workload}_minimal`];
    if (all === undefined) return [];
    const same = minimal === undefined ? '' : ` (${said(minimal)} times when it does only the same work)`;
    return `${said(all)} times for ${title}${same}`;
  });
  if (parts.length === 0) return null;
  return `CPU of its ext_proc server with everything on, against that of Envoy AI Gateway: ${parts.join(', ')}.`;
}

function wholeCpu(figures: Figures): string | null {
  const parts = PROXIES.flatMap(([name, title]) => {
    const found = figures[`${name}.throughput_per_core`];
    return found === undefined ? [] : `${said(found)} times those of ${title}`;
  });
  if (parts.length === 0) return null;
  return `Requests of plain chat that one second of CPU serves, that of Envoy and Redis included: ${parts.join(', ')}.`;
}

/** The median; where the rounds lie further apart than it, which makes it no claim, their extremes. */
function said({ median, min, max }: Spread): string {
  return max - min > Math.abs(median) ? `${min.toFixed(2)} to ${max.toFixed(2)}` : median.toFixed(2);
}
