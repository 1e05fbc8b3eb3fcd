import { randomBytes } from 'node:crypto';
import type { EpochLook, EpochStore, LossAnswer, LossKind, StateLoss } from '../../core/ports/epoch-store.ts';
import type { RedisClient } from './connection.ts';
import type { Keys } from './keys.ts';
import type { RunScript } from './script-runner.ts';
import type { StoreBreaker } from './store-breaker.ts';

/** A crash with `appendfsync everysec`, or a failover, may cost a second or two: that is told, and is no loss. */
export const TOLERATED_MS = 2000;
/** The time is noted this often, by all replicas together. */
const NOTE_EVERY_MS = 200;
/** As long as ledgers are kept. */
const KEEP_MS = 400 * 86_400_000;
const REMEMBERED = 20;

/** `EpochStore` in Redis: one hash. In a cluster it tells of the node that it lies on. */
export function createRedisEpochStore({
  client,
  run,
  call,
  keys,
}: {
  readonly client: Pick<RedisClient, 'hmget'>;
  readonly run: RunScript;
  readonly call: StoreBreaker['call'];
  readonly keys: Keys;
}): EpochStore {
  return {
    look: async (known) => {
      const args = [known?.id ?? '', known?.at ?? '', freshId(), TOLERATED_MS, NOTE_EVERY_MS, KEEP_MS];
      return readLook((await call(() => run('epoch-look', [keys.epoch], args))) as readonly string[]);
    },
    loss: async () => {
      const [kind, at, held] = await call(() => client.hmget(keys.epoch, 'loss', 'loss_at', 'held'));
      return lossOf(kind ?? '', at ?? '', held ?? '');
    },
    answer: async (answer) => {
      const args = [freshId(), JSON.stringify(answer), REMEMBERED, KEEP_MS];
      return (await call(() => run('epoch-answer', [keys.epoch], args))) === 1;
    },
  };
}

function readLook([
  id = '',
  at,
  kind = '',
  lossAt = '',
  held = '',
  answer = '',
  stepped,
]: readonly string[]): EpochLook {
  return {
    id,
    at: Number(at),
    loss: lossOf(kind, lossAt, held),
    answer: answer === '' ? null : (JSON.parse(answer) as LossAnswer),
    steppedBackMs: Number(stepped),
  };
}

function lossOf(kind: string, at: string, held: string): StateLoss | null {
  return kind === '' ? null : { kind: kind as LossKind, at: Number(at), heldUpTo: Number(held) };
}

function freshId(): string {
  return randomBytes(12).toString('hex');
}
