import { createPrivateKey, createPublicKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createAuditChain } from '../../src/audit/audit-chain.ts';
import { createCheckpointer } from '../../src/audit/checkpointer.ts';
import { createFolderCheckpointStore } from '../../src/audit/folder-checkpoint-store.ts';
import { systemClock } from '../../src/core/ports/clock.ts';
import { silentLog } from '../../src/telemetry/silent.ts';

// A process that writes until it is killed: numbers on standard output are those that it was told are on disk.
const [dir = '', checkpoints = '', keyFile = '', name = ''] = process.argv.slice(2);
const key = createPrivateKey(readFileSync(keyFile));
const metrics = { anomaly: (): void => {} };
const common = { clock: systemClock, log: silentLog, metrics };
const chain = createAuditChain({
  ...common,
  dir,
  node: 'test',
  worker: 0,
  workers: 1,
  segmentBytes: 256 * 1024,
  rotateMs: 86_400_000,
  keepMs: 86_400_000,
  checkpoint: { everyMs: 20, records: 500 },
  checkpointer: createCheckpointer({
    ...common,
    key,
    publicKey: createPublicKey(key),
    stores: [createFolderCheckpointStore({ dir: checkpoints })],
  }),
});
for (let n = 0; ; n += 1) {
  chain.append({
    kind: 'request',
    time: Date.now(),
    facts: { request_id: `${name}-${n}`, filler: 'x'.repeat(n % 700) },
  });
  if (n % 64 === 63 && (await chain.flush(10_000)) === 0) process.stdout.write(`${n}\n`);
}
