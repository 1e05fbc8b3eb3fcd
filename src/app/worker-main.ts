import { guardProcess } from './guard-process.ts';
import { load } from './load.ts';
import { openLog } from './open-log.ts';
import { startWorker, type Worker } from './worker.ts';
import type { FromWorker, ToWorker } from './worker-messages.ts';

/** Entry of a worker process: `worker-main CONFIG INDEX RUNDIR [LOGFILE [REPLICA]]`, with a channel to the primary. */
async function main([
  path = '',
  index = '',
  runDir = '',
  logFile = '',
  replica = '',
]: readonly string[]): Promise<void> {
  const loaded = load(path);
  const log = openLog(loaded.snapshot, { file: logFile, worker: Number(index) });
  const worker = await startWorker({ loaded, index: Number(index), runDir, replica, log });
  const leave = once(worker);
  guardProcess(log, leave);
  // The primary is gone, perhaps while we started: nobody would restart or drain us.
  process.once('disconnect', () => void leave());
  if (!process.connected) {
    await leave();
    return;
  }
  process.on('message', (message: ToWorker) => {
    if (message.kind === 'drain') void leave(0, message.noticeMs);
    if (message.kind === 'ping') say({ kind: 'pong', turn: message.turn });
    if (message.kind === 'report') {
      void worker.report().then((report) => say({ kind: 'report', turn: message.turn, report }));
    }
  });
  say({ kind: 'ready' });
}

function once(worker: Worker): (code?: number, noticeMs?: number) => Promise<void> {
  let leaving: Promise<void> | null = null;
  return (code = 0, noticeMs = 0) => {
    leaving ??= worker.drain(noticeMs).finally(() => process.exit(code));
    return leaving;
  };
}

function say(message: FromWorker): void {
  if (process.connected) process.send?.(message);
}

// A terminal's Ctrl-C reaches the whole group; only the primary decides when workers go.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => {});

main(process.argv.slice(2)).catch((reason: unknown) => {
  const gone = (): never => process.exit(1);
  if (process.connected)
    process.send?.(
      { kind: 'failed', message: reason instanceof Error ? reason.message : String(reason) } satisfies FromWorker,
      gone,
    );
  else gone();
});
