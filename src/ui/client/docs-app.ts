import type { Status } from '../data/wire.ts';
import { NO_ANSWER, readAnswer } from '../docs/answer.ts';
import type { Answer, Trouble } from '../docs/answer.ts';
import { curlOf } from '../docs/curl.ts';
import { matches, operationsOf } from '../docs/document.ts';
import type { ApiDocument, Operation } from '../docs/document.ts';
import { Memory } from '../docs/memory.ts';
import { prepare } from '../docs/request.ts';
import type { Form, Prepared } from '../docs/request.ts';
import { exampleOf } from '../docs/schema.ts';
import { createApi, isToken } from './api.ts';
import { NOT_A_TOKEN } from './app.ts';
import type { PageModel, Session } from './app.ts';
import { problemOf } from './problem.ts';

/** What a person does with one operation. */
export interface Attempt {
  /** What was changed by hand; the rest is filled in. */
  readonly values: Readonly<Record<string, string>>;
  readonly body: string;
  /** The Idempotency-Key that was made for the next write. */
  readonly key: string;
  readonly step: 'form' | 'confirm' | 'sending';
  readonly faults: Readonly<Record<string, string>>;
  readonly answer: Answer | null;
  /** Why there is no answer. */
  readonly away: Trouble | null;
}

/** What the page shows. */
export interface DocsModel {
  readonly document: ApiDocument;
  readonly operations: readonly Operation[];
  /** Those that the words of the search fit. */
  readonly found: readonly Operation[];
  readonly words: string;
  readonly signIn: PageModel['signIn'];
  /** Whose token it is; null = nobody has signed in. */
  readonly caller: Status | null;
  /** null = the list of all. */
  readonly chosen: {
    readonly operation: Operation;
    readonly attempt: Attempt;
    readonly form: Form;
    readonly curl: string | null;
  } | null;
}

export interface DocsAppOptions {
  readonly fetch: typeof globalThis.fetch;
  /** Address of the page: `…/admin/docs`. */
  readonly base: string;
  readonly document: ApiDocument;
  readonly session: Session;
  /** Milliseconds of a clock that only goes forward. */
  readonly time: () => number;
  /** A text that nobody can guess or has used, for `Idempotency-Key`. */
  readonly newKey: () => string;
  readonly onChange: () => void;
  /** Tells those who do not see the page what has happened. */
  readonly say: (text: string) => void;
}

const TIMEOUT_MS = 20_000;

/** Everything that the API page does, without the document it is shown in. */
export class DocsApp {
  readonly #options: DocsAppOptions;
  readonly #operations: readonly Operation[];
  readonly #attempts = new Map<string, Attempt>();
  readonly #memory: Memory;
  #words = '';
  #chosen: Operation | null = null;
  #signIn: PageModel['signIn'] = { problem: null, busy: false };
  #who: { readonly token: string; readonly caller: Status } | null = null;

  constructor(options: DocsAppOptions) {
    this.#options = options;
    this.#operations = operationsOf(options.document);
    this.#memory = new Memory(this.#operations);
  }

  model(): DocsModel {
    const { document, base } = this.#options;
    const operation = this.#chosen;
    return {
      document,
      operations: this.#operations,
      found: this.#operations.filter((each) => matches(each, this.#words, document.components.schemas)),
      words: this.#words,
      signIn: this.#signIn,
      caller: this.#who?.caller ?? null,
      chosen: operation === null ? null : { operation, ...this.#shown(operation, base) },
    };
  }

  /** Tries the token. `remember`: keep it for this tab. True when it opens the API. */
  async signIn(token: string, remember: boolean): Promise<boolean> {
    const { fetch, base, session } = this.#options;
    if (!isToken(token)) return this.#refuse(NOT_A_TOKEN);
    this.#signIn = { problem: null, busy: true };
    this.#options.onChange();
    const result = await createApi({ fetch, base: new URL('../', base).href, token }).get<Status>('status');
    if (!result.ok) return this.#refuse(result.problem);
    this.#forget();
    this.#who = { token, caller: result.value };
    session.write(remember ? token : null);
    this.#options.onChange();
    return true;
  }

  signOut(): void {
    this.#options.session.write(null);
    this.#forget();
    this.#options.onChange();
  }

  search(words: string): void {
    this.#words = words;
    this.#options.onChange();
  }

  /** Shows one operation; one that is not there shows the list. */
  choose(name: string): void {
    const before = this.#chosen;
    // A secret does not lie around where nobody looks.
    if (before !== null && before.name !== name && (this.#attempt(before).answer?.secret ?? null) !== null)
      this.#set(before, { answer: null });
    this.#chosen = this.#operations.find((each) => each.name === name) ?? null;
    this.#options.onChange();
  }

  /** Takes what was typed into a field; `body` is the body. What is confirmed is what was seen: a change takes that back. */
  edit(field: string, value: string): void {
    const operation = this.#chosen;
    if (operation === null) return;
    const { values, faults, step } = this.#attempt(operation);
    if (step === 'sending') return;
    const { [field]: _gone, ...others } = faults;
    const change = field === 'body' ? { body: value } : { values: { ...values, [field]: value } };
    this.#set(operation, { ...change, faults: others, step: 'form' });
    this.#options.onChange();
  }

  /** Fills the body with all fields, or with those that must be there. */
  fillBody(all: boolean): void {
    const body = this.#chosen?.body ?? null;
    if (body !== null) this.edit('body', exampleText(body, this.#options.document, all));
  }

  back(): void {
    if (this.#chosen !== null) this.#set(this.#chosen, { step: 'form' });
    this.#options.onChange();
  }

  /** Sends, a write only when it is asked for a second time. Returns the id of what to look at next. */
  async send(): Promise<string> {
    const [operation, who] = [this.#chosen, this.#who];
    if (operation === null || who === null) return 'token';
    const attempt = this.#attempt(operation);
    if (attempt.step === 'sending') return 'send';
    const prepared = prepare(operation, this.#form(operation), this.#options.base);
    if (!prepared.ok) {
      const [first = 'body'] = Object.keys(prepared.faults);
      this.#set(operation, { faults: prepared.faults, step: 'form' });
      this.#options.say(`${first}: ${prepared.faults[first] ?? ''}`);
      this.#options.onChange();
      return `field-${first}`;
    }
    if (operation.write && attempt.step === 'form') {
      this.#set(operation, { step: 'confirm', answer: null, away: null, faults: {} });
      this.#options.onChange();
      return 'confirm';
    }
    this.#set(operation, { step: 'sending', answer: null, away: null, faults: {} });
    this.#options.onChange();
    await this.#exchange(operation, prepared.request, who);
    return 'answer';
  }

  /** Asks for the page that follows the one that is shown. */
  async next(): Promise<string> {
    const cursor = this.#chosen === null ? null : (this.#attempt(this.#chosen).answer?.cursor ?? null);
    if (cursor === null) return 'answer';
    this.edit('cursor', cursor);
    return await this.send();
  }

  async #exchange(operation: Operation, request: Prepared, who: { readonly token: string }): Promise<void> {
    const form = this.#form(operation);
    const answer = await this.#ask(operation, request, who.token);
    // Another caller must not see what the last one was told.
    if (this.#who?.token !== who.token) return;
    if (answer === null) {
      this.#set(operation, { step: 'form', away: NO_ANSWER });
      this.#options.say(NO_ANSWER.what);
    } else {
      this.#set(operation, { step: 'form', answer, ...this.#after(operation, form, answer) });
      this.#options.say(`${answer.trouble?.what ?? 'Done.'} HTTP ${answer.status} in ${Math.round(answer.ms)} ms.`);
      if (answer.status === 401) {
        this.#who = null;
        this.#refuse(problemOf({ status: 401, code: null, message: null, retryAfter: null }));
      }
    }
    this.#options.onChange();
  }

  async #ask(operation: Operation, { method, url, headers, body }: Prepared, token: string): Promise<Answer | null> {
    const { fetch, base, time } = this.#options;
    if (new URL(url).origin !== new URL(base).origin) throw new RangeError('the token stays at its origin');
    const start = time();
    try {
      const response = await fetch(url, {
        method,
        headers: { ...headers, authorization: `Bearer ${token}` },
        ...(body === null ? {} : { body }),
        cache: 'no-store',
        credentials: 'omit',
        redirect: 'error',
        referrerPolicy: 'no-referrer',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      const text = await response.text();
      return readAnswer(operation, { status: response.status, headers: response.headers, text, ms: time() - start });
    } catch {
      // The reason is not told to scripts.
      return null;
    }
  }

  /** What an answer changes in the form. */
  #after(operation: Operation, form: Form, answer: Answer): Partial<Attempt> {
    const { values, key } = this.#attempt(operation);
    const kept = { ...values };
    if (answer.trouble === null) {
      this.#memory.learn(operation, form, answer);
      // The version that was just made, or none, is the one to go on with.
      delete kept['If-Match'];
    }
    // After a fault it is the same write that is tried again; a key of one's own stays.
    const next = answer.status >= 500 ? key : this.#options.newKey();
    return { values: kept, key: next, faults: faultsOf(operation, answer.trouble) };
  }

  #shown(operation: Operation, base: string) {
    const form = this.#form(operation);
    const prepared = prepare(operation, form, base);
    return { attempt: this.#attempt(operation), form, curl: prepared.ok ? curlOf(prepared.request) : null };
  }

  #form(operation: Operation): Form {
    const { values, body, key } = this.#attempt(operation);
    return { values: this.#memory.filled(operation, { 'Idempotency-Key': key, ...values }), body };
  }

  #attempt(operation: Operation): Attempt {
    const found = this.#attempts.get(operation.name);
    if (found !== undefined) return found;
    const { document, newKey } = this.#options;
    const body = operation.body === null ? '' : exampleText(operation.body, document, false);
    const made: Attempt = { values: {}, body, key: newKey(), step: 'form', faults: {}, answer: null, away: null };
    this.#attempts.set(operation.name, made);
    return made;
  }

  #set(operation: Operation, change: Partial<Attempt>): void {
    this.#attempts.set(operation.name, { ...this.#attempt(operation), ...change });
  }

  #forget(): void {
    this.#attempts.clear();
    this.#memory.clear();
    this.#who = null;
    this.#signIn = { problem: null, busy: false };
  }

  #refuse(problem: NonNullable<PageModel['signIn']['problem']>): false {
    if (problem.kind === 'signed-out') this.#options.session.write(null);
    this.#signIn = { problem, busy: false };
    this.#options.onChange();
    return false;
  }
}

const exampleText = (body: NonNullable<Operation['body']>, { components }: ApiDocument, all: boolean): string =>
  JSON.stringify(exampleOf(body, components.schemas, all), null, 2);

/** The field that the API blames, where the form has one. */
function faultsOf({ parameters, body }: Operation, trouble: Trouble | null): Readonly<Record<string, string>> {
  const field = trouble?.field ?? null;
  if (trouble === null || field === null) return {};
  if (parameters.some(({ name }) => name === field)) return { [field]: trouble.message };
  return body === null ? {} : { body: field === 'body' ? trouble.message : `${field}: ${trouble.message}` };
}
