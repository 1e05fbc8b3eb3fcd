import type { StateLoss } from '../../core/ports/epoch-store.ts';
import type { LedgerReader } from '../../core/ports/quota-store.ts';
import { bookedAt } from '../sink/stream-id.ts';

/** What the ledger of one tenant holds already. */
export interface Held {
  /** Is the operation booked, or was it and the ledger has let go of it since? `settledAt`: Unix milliseconds. */
  has(operation: string, settledAt: number): boolean;
  add(operation: string): void;
}

const PAGE = 2000;

/** Reads a ledger for what need not be booked again. Holds its operations in memory. Throws what the reader throws. */
export async function readHeld(reader: LedgerReader, tenant: string, loss: StateLoss | null): Promise<Held> {
  const operations = new Set<string>();
  let begin: number | null = null;
  for (let after: string | null = null; ;) {
    const page: Awaited<ReturnType<LedgerReader['read']>> = await reader.read(tenant, after, PAGE);
    const [first] = page;
    // A ledger whose first entry is not the first one ever has let go of older ones.
    if (after === null && first !== undefined && first.number !== 1) begin = bookedAt(first.id);
    for (const { event } of page) operations.add(event.operation);
    const last = page.at(-1);
    if (last === undefined) break;
    after = last.id;
  }
  const wasTrimmed = (settledAt: number): boolean => {
    if (begin === null || settledAt >= begin) return false;
    return loss === null || settledAt < loss.heldUpTo || settledAt > loss.at;
  };
  return {
    has: (operation, settledAt) => operations.has(operation) || wasTrimmed(settledAt),
    add: (operation) => void operations.add(operation),
  };
}
