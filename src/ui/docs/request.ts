import type { Operation } from './document.ts';

/** What a person has filled in: texts by the names of parameters, and the body as it stands in its field. */
export interface Form {
  readonly values: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A request that can be sent. The token is no part of it. */
export interface Prepared {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

export type Preparation =
  | { readonly ok: true; readonly request: Prepared }
  /** What is wrong, by field; the body is `body`. */
  | { readonly ok: false; readonly faults: Readonly<Record<string, string>> };

/** The form as a request to the server that the page came from. `base`: the page's address. Nothing throws. */
export function prepare(operation: Operation, form: Form, base: string): Preparation {
  const faults = faultsOf(operation, form);
  if (Object.keys(faults).length > 0) return { ok: false, faults };
  const url = addressOf(operation, form, base);
  const headers: Record<string, string> = { accept: acceptOf(form) };
  for (const { name, in: place } of operation.parameters) {
    const value = valueOf(form, name);
    if (place === 'header' && value !== '') headers[name] = value;
  }
  if (operation.body !== null) headers['content-type'] = 'application/json';
  const body = operation.body === null ? null : form.body;
  return { ok: true, request: { method: operation.method, url, headers, body } };
}

/** Of a pair that makes one character; no address can hold it. */
const HALF = /\p{Surrogate}/u;

const valueOf = ({ values }: Form, name: string): string => (values[name] ?? '').trim();
const acceptOf = (form: Form): string =>
  valueOf(form, 'format') === 'csv' ? 'text/csv, application/json' : 'application/json';

function faultsOf({ parameters, body }: Operation, form: Form): Readonly<Record<string, string>> {
  const faults: Record<string, string> = {};
  for (const { name, in: place, required } of parameters) {
    const value = valueOf(form, name);
    if (value === '') {
      if (required) faults[name] = 'This is needed.';
    } else if (place === 'header' && !/^[\x20-\x7e]+$/.test(value))
      faults[name] = 'A header holds letters, digits and signs of ASCII only.';
    // Browsers and curl take these as steps in the path: the request would be for something else.
    else if (place === 'path' && /^\.{1,2}$/.test(value)) faults[name] = 'A name cannot be dots alone.';
    else if (HALF.test(value)) faults[name] = 'This holds half of a character.';
  }
  const wrong = body === null ? null : faultOfBody(form.body);
  if (wrong !== null) faults['body'] = wrong;
  return faults;
}

function faultOfBody(text: string): string | null {
  if (text.trim() === '') return 'A body in JSON is needed.';
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'The body must be an object.';
    return null;
  } catch (error) {
    return `This is not JSON: ${error instanceof Error ? error.message : 'it cannot be read'}.`;
  }
}

/** The API lies beside the page, also where both are behind a prefix. */
function addressOf({ path, parameters }: Operation, form: Form, base: string): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => encodeURIComponent(valueOf(form, name)));
  const url = new URL(`.${filled}`, new URL('../', base));
  for (const { name, in: place } of parameters) {
    const value = valueOf(form, name);
    if (place === 'query' && value !== '') url.searchParams.set(name, value);
  }
  return url.href;
}

/** What stands in the places of a path's template; null = it is no such path. */
export function paramsOf(template: string, path: string): Readonly<Record<string, string>> | null {
  const names = [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '');
  const parts = template.split(/\{\w+\}/).map((part) => part.replaceAll(/[.*+?^$()|[\]\\]/g, String.raw`\$&`));
  const found = new RegExp(`^${parts.join('([^/]+)')}$`).exec(path);
  if (found === null) return null;
  try {
    return Object.fromEntries(names.map((name, at) => [name, decodeURIComponent(found[at + 1] ?? '')]));
  } catch {
    return null;
  }
}

/** The record that an operation is about: `/admin/keys/{id}` for its rotation too. '' = it is about none. */
export const recordOf = (path: string): string => path.slice(0, path.lastIndexOf('}') + 1);

/** A template with its places filled; null while one is empty. */
export function fill(template: string, form: Form): string | null {
  let whole = true;
  const path = template.replaceAll(/\{(\w+)\}/g, (_all, name: string) => {
    const value = valueOf(form, name);
    if (value === '' || HALF.test(value)) whole = false;
    return whole ? encodeURIComponent(value) : '';
  });
  return whole ? path : null;
}
