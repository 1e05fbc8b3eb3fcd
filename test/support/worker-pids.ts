import { execFileSync } from 'node:child_process';

/** The worker processes that this process has started. */
export function workerPids(): readonly number[] {
  const lines = execFileSync('ps', ['-o', 'pid=,args=', '--ppid', String(process.pid)], { encoding: 'utf8' });
  return lines
    .split('\n')
    .filter((line) => line.includes('worker-main'))
    .map((line) => Number.parseInt(line, 10));
}
