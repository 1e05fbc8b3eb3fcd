/** `npm run demo`: the whole gateway on real Envoy and Redis, in front of two demo model servers. */
import { commandLine, refuseOthers } from '../command-line.mjs';
import { demoRequests } from './demo-requests.ts';
import { invitation } from './invitation.ts';
import { printReport } from './print-report.ts';
import { startDemo } from './start-demo.ts';

const keep = commandLine({
  usage: 'npm run demo -- [--keep]\n  --keep  leaves everything running until Ctrl-C, on port 10000 where that is free',
  read(words) {
    refuseOthers(words, ['--keep']);
    return words.includes('--keep');
  },
});
/** What the README shows. */
const KEPT_PORT = 10_000;
const began = performance.now();

try {
  const demo = await startDemo({
    say: (line) => process.stdout.write(`${line}\n`),
    ...(keep ? { port: KEPT_PORT } : {}),
  });
  const startedMs = Math.round(performance.now() - began);
  process.stdout.write(`TokenLat serves ${demo.url} (started in ${(startedMs / 1000).toFixed(1)} s)\n\n`);
  const results = await demoRequests(demo);
  for (const result of results) printReport(result);
  const ok = results.every((result) => result.ok);
  if (keep) {
    process.stdout.write(invitation(demo));
    await new Promise<void>((resolve) => {
      process.once('SIGINT', () => resolve());
      process.once('SIGTERM', () => resolve());
    });
  }
  const left = await demo.stop();
  process.stdout.write(
    `${JSON.stringify({ ok: ok && left === 0, requests: results.length, started_ms: startedMs, open_reservations: left })}\n`,
  );
  process.exitCode = ok && left === 0 ? 0 : 1;
} catch (reason) {
  process.stderr.write(`demo: ${reason instanceof Error ? reason.message : String(reason)}\n`);
  process.stdout.write(`${JSON.stringify({ ok: false })}\n`);
  process.exitCode = 1;
}
process.exit();
