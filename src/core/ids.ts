import { randomFillSync } from 'node:crypto';

declare const brand: unique symbol;
type Brand<T, B extends string> = T & { readonly [brand]: B };

/** Names one client request inside TokenLat. Made by us, never taken from a client. `<worker>-<24 hex digits>`. */
export type RequestId = Brand<string, 'RequestId'>;

/** Makes one quota or ledger write idempotent. One per client request; equal to its `RequestId`. */
export type OperationId = Brand<string, 'OperationId'>;

const ID_BYTES = 12;
/** Random bytes for many ids at once: asking the system for twelve costs more than all else about an id. */
const POOL = Buffer.alloc(ID_BYTES * 256);
let used = POOL.length;

/** `worker` is the index of the process that owns the request, so that another process can find it. */
export function newRequestId(worker: number): RequestId {
  if (used === POOL.length) {
    randomFillSync(POOL);
    used = 0;
  }
  const id = `${worker}-${POOL.toString('hex', used, used + ID_BYTES)}` as RequestId;
  used += ID_BYTES;
  return id;
}

const FORM = /^(\d{1,3})-[0-9a-f]{24}$/;

/** Reads back an id from a header; `null` for anything that we did not make. */
export function parseRequestId(text: string | undefined): { readonly id: RequestId; readonly worker: number } | null {
  const match = text === undefined ? null : FORM.exec(text);
  return match === null ? null : { id: text as RequestId, worker: Number(match[1]) };
}

export function operationOf(id: RequestId): OperationId {
  return id as string as OperationId;
}
