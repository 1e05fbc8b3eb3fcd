import { readdirSync, readFileSync } from 'node:fs';

/** CPU time of processes so far, and what they hold. */
export interface ProcessFigures {
  readonly cpuMs: number;
  readonly rssMb: number;
}

/** Clock ticks of /proc on Linux: USER_HZ is 100 on every architecture that Node runs on. */
const MS_A_TICK = 10;

const PAGE_MB = 4096 / 1024 / 1024;

/** Sums a process and its children, from /proc/<pid>/stat. */
export function processFigures(root: number): ProcessFigures {
  let cpuMs = 0;
  let rssMb = 0;
  const parents = new Map<number, number>();
  const figures = new Map<number, ProcessFigures>();
  for (const entry of readdirSync('/proc')) {
    const pid = Number(entry);
    const fields = Number.isInteger(pid) ? statOf(pid) : null;
    if (fields === null) continue;
    parents.set(pid, Number(fields[1]));
    figures.set(pid, {
      cpuMs: (Number(fields[11]) + Number(fields[12])) * MS_A_TICK,
      rssMb: Number(fields[21]) * PAGE_MB,
    });
  }
  for (const [pid, one] of figures) {
    if (pid !== root && parents.get(pid) !== root) continue;
    cpuMs += one.cpuMs;
    rssMb += one.rssMb;
  }
  return { cpuMs, rssMb };
}

/** The fields after the name, which may hold anything; the first is the state. */
function statOf(pid: number): readonly string[] | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return null;
  }
}
