import { Redis } from 'ioredis';
import type { RedisClient } from './connection.ts';

/** Says when commands go out that are made already. */
export interface WritePacer {
  /** Runs `send`, whose command nobody waits for: it goes out with the next one that somebody does, or soon by itself. */
  readonly patient: <T>(send: () => T) => T;
}

/** How long a patient command waits for company. Far below any deadline of the store. */
const PATIENCE_MS = 2;

/**
 * Commands of one turn of the event loop go out in one write: a write costs more than making the command, and under load many
 * requests have one to send in the same turn. Order is kept, so that what is asked next finds what was told before. (A
 * cluster has a connection a node, and paces none of them.)
 */
export function createWritePacer(client: RedisClient): WritePacer {
  if (!(client instanceof Redis)) return { patient: (send) => send() };
  const write = client.sendCommand.bind(client);
  let corked: Redis['stream'] | null = null;
  let timer: NodeJS.Timeout | null = null;
  let turnEnds = false;
  let isPatient = false;

  function uncork(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    corked?.uncork();
    corked = null;
  }

  function atTurnsEnd(): void {
    turnEnds = false;
    uncork();
  }

  client.sendCommand = (...args) => {
    // Before the connection there is none.
    const stream = client.stream as Redis['stream'] | undefined;
    if (stream !== undefined) {
      if (corked === null) {
        corked = stream;
        stream.cork();
      }
      if (isPatient) timer ??= setTimeout(uncork, PATIENCE_MS);
      else if (!turnEnds) {
        turnEnds = true;
        setImmediate(atTurnsEnd);
      }
    }
    return write(...args);
  };

  return {
    patient(send) {
      isPatient = true;
      try {
        return send();
      } finally {
        isPatient = false;
      }
    },
  };
}
