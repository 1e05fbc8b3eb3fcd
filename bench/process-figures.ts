import { readdirSync, readFileSync } from 'node:fs';

/** CPU time of processes so far, and what they hold. */
export interface ProcessFigures {
  readonly cpuMs: number;
  readonly rssMb: number;
}

/** Clock ticks of /proc on Linux: USER_HZ is 100 on every architecture that Node runs on. */
const MS_A_TICK = 10;

const PAGE_MB = 4096 / 1024 / 1024;

/** Sums a process and its children. */
export function processFigures(root: number): ProcessFigures {
  let cpuMs = 0;
  let rssMb = 0;
  for (const entry of readdirSync('/proc')) {
    const pid = Number(entry);
    const fields = Number.isInteger(pid) ? statOf(pid) : null;
    if (fields === null || (pid !== root && Number(fields[1]) !== root)) continue;
    cpuMs += preciseCpuMs(pid) ?? (Number(fields[11]) + Number(fields[12])) * MS_A_TICK;
    rssMb += Number(fields[21]) * PAGE_MB;
  }
  return { cpuMs, rssMb };
}

/**
 * Time on a CPU of the threads of a process, to the nanosecond where the kernel tells it: a tick of 10 ms is more than ten streams
 * cost. A thread that ends takes its time with it; those that are measured here keep theirs.
 */
function preciseCpuMs(pid: number): number | null {
  try {
    let total = 0;
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      total += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ', 1)[0]);
    }
    return total / 1e6;
  } catch {
    return null;
  }
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
