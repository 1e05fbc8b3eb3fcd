/** What the tests of the API page share: the document as it is published. */
import { readFileSync } from 'node:fs';
import { operationsOf } from './document.ts';
import type { ApiDocument, Operation } from './document.ts';

export const API = JSON.parse(
  readFileSync(new URL('../../../schema/openapi.json', import.meta.url), 'utf8'),
) as ApiDocument;
export const OPERATIONS: readonly Operation[] = operationsOf(API);

/** One operation of it. */
export function operation(name: string): Operation {
  const found = OPERATIONS.find((each) => each.name === name);
  if (found === undefined) throw new RangeError(`no operation ${name}`);
  return found;
}
