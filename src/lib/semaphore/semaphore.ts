/** Gives a slot back. Calling it again does nothing. */
export type Release = () => void;

/** What became of a wish for a slot. */
export type Acquired =
  | { readonly kind: 'acquired'; readonly release: Release }
  /** No slot free and the queue full: not even waited. */
  | { readonly kind: 'full' }
  | { readonly kind: 'timeout' }
  | { readonly kind: 'aborted' };

export interface AcquireOptions {
  /** How long to wait at most, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export interface SemaphoreOptions {
  /** Slots; at least 1. */
  readonly limit: number;
  /** Places to wait in; 0 = nobody waits. */
  readonly queue: number;
  /** Called after each change of `running` or `waiting`. Must not throw. */
  readonly onChange?: (running: number, waiting: number) => void;
}

/** Slots handed out in order of arrival, with a bounded queue. */
export interface Semaphore {
  readonly running: number;
  readonly waiting: number;
  /** A slot at once, else null. Never overtakes who waits. */
  tryAcquire(): Release | null;
  /** A slot at once when one is free (no promise then), else a place in the queue. Never rejects. */
  acquire(options: AcquireOptions): Acquired | Promise<Acquired>;
  /** Changes the bounds. Who runs and who waits stays, also beyond smaller bounds; new slots go to who waits. */
  resize(limit: number, queue: number): void;
}

/** Grants or ends one wait; exactly one call has effect. */
type Waiter = (outcome: Acquired) => void;

function checkBounds(limit: number, queue: number): void {
  if (!Number.isSafeInteger(limit) || limit < 1) throw new RangeError(`not a limit: ${limit}`);
  if (!Number.isSafeInteger(queue) || queue < 0) throw new RangeError(`not a queue length: ${queue}`);
}

/** Makes a semaphore. Throws `RangeError` for bounds that are no whole numbers or too small. */
export function createSemaphore(options: SemaphoreOptions): Semaphore {
  const { onChange } = options;
  let { limit, queue } = options;
  let running = 0;
  // A set keeps the order of arrival and forgets from the middle in constant time.
  const waiters = new Set<Waiter>();
  checkBounds(limit, queue);

  const changed = (): void => onChange?.(running, waiters.size);

  function take(): Release {
    running++;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      running--;
      grant();
      changed();
    };
  }

  function grant(): void {
    for (const waiter of waiters) {
      if (running >= limit) return;
      waiter({ kind: 'acquired', release: take() });
    }
  }

  function wait(timeoutMs: number, signal: AbortSignal | undefined): Promise<Acquired> {
    return new Promise((resolve) => {
      const waiter: Waiter = (outcome) => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        waiters.delete(waiter);
        resolve(outcome);
      };
      const giveUp = (kind: 'timeout' | 'aborted'): void => {
        waiter({ kind });
        changed();
      };
      const onAbort = (): void => giveUp('aborted');
      const timer = setTimeout(giveUp, timeoutMs, 'timeout');
      signal?.addEventListener('abort', onAbort, { once: true });
      waiters.add(waiter);
      changed();
    });
  }

  function tryAcquire(): Release | null {
    if (running >= limit || waiters.size > 0) return null;
    const release = take();
    changed();
    return release;
  }

  return {
    get running() {
      return running;
    },
    get waiting() {
      return waiters.size;
    },
    tryAcquire,
    acquire({ timeoutMs, signal }) {
      if (signal?.aborted === true) return { kind: 'aborted' };
      const release = tryAcquire();
      if (release !== null) return { kind: 'acquired', release };
      if (waiters.size >= queue) return { kind: 'full' };
      if (timeoutMs <= 0) return { kind: 'timeout' };
      return wait(timeoutMs, signal);
    },
    resize(newLimit, newQueue) {
      checkBounds(newLimit, newQueue);
      limit = newLimit;
      queue = newQueue;
      grant();
      changed();
    },
  };
}
