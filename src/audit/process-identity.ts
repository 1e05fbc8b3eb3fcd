import { readFileSync } from 'node:fs';

/** Tells a process from a later one with the same number: pid, start time, boot. Null when there is no such process. */
export function processIdentity(pid: number): string | null {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return null;
  }
  // Where there is no /proc, the number alone must do.
  return [pid, startTime(pid), readIfThere('/proc/sys/kernel/random/boot_id')].join(' ').trim();
}

/** Whether the process that wrote `identity` is still there. */
export function isAlive(identity: string): boolean {
  const pid = Number.parseInt(identity, 10);
  return Number.isSafeInteger(pid) && pid > 0 && processIdentity(pid) === identity.trim();
}

/** Field 22 of /proc/PID/stat; the name in field 2 may hold spaces and brackets. A zombie is gone. */
function startTime(pid: number): string {
  const text = readIfThere(`/proc/${pid}/stat`);
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' ? 'zombie' : (fields[19] ?? '');
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return '';
  }
}
