import type { Answer } from './answer.ts';
import type { Operation } from './document.ts';
import { fill, paramsOf, recordOf } from './request.ts';
import type { Form } from './request.ts';

/** What answers have told that the next request needs: versions of records, and the names that were worked with. */
export class Memory {
  readonly #operations: readonly Operation[];
  /** ETags by the path of the record. */
  readonly #versions = new Map<string, string>();
  /** Values by the template that leads to them: `/admin/tenants/{tenant}` is the same for tenants and their lines. */
  readonly #names = new Map<string, string>();

  constructor(operations: readonly Operation[]) {
    this.#operations = operations;
  }

  clear(): void {
    this.#versions.clear();
    this.#names.clear();
  }

  /** Takes what a success tells. */
  learn(operation: Operation, form: Form, { etag, location }: Pick<Answer, 'etag' | 'location'>): void {
    const own = recordOf(operation.path) === '' ? null : fill(recordOf(operation.path), form);
    this.#keepNames(operation.path, form.values);
    if (operation.method === 'DELETE' && own !== null) this.#versions.delete(own);
    if (location !== null) {
      for (const { path } of this.#operations) {
        const found = paramsOf(path, location);
        if (found !== null) this.#keepNames(path, found);
      }
      if (etag !== null) this.#versions.set(location, etag);
    } else if (etag !== null && own !== null) this.#versions.set(own, etag);
  }

  /** The values of a form: what is not typed is what was seen last. */
  filled({ path, parameters }: Operation, typed: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    const values: Record<string, string> = { ...typed };
    for (const { name, in: place } of parameters)
      if (place === 'path') values[name] ??= this.#names.get(upTo(path, name)) ?? '';
    const record = fill(recordOf(path), { values, body: '' });
    if (parameters.some(({ name }) => name === 'If-Match') && record !== null)
      values['If-Match'] ??= this.#versions.get(record) ?? '';
    return values;
  }

  #keepNames(path: string, values: Readonly<Record<string, string>>): void {
    for (const [, name = ''] of path.matchAll(/\{(\w+)\}/g)) {
      const value = values[name]?.trim() ?? '';
      if (value !== '') this.#names.set(upTo(path, name), value);
    }
  }
}

const upTo = (path: string, name: string): string => path.slice(0, path.indexOf(`{${name}}`) + name.length + 2);
