import { DocsApp } from '../client/docs-app.ts';
import type { ApiDocument } from '../docs/document.ts';
import { docsPage, titleOf } from '../views/docs-page.ts';
import type { DocsActions } from '../views/docs-page.ts';
import { focusSoon, need, tabSession } from './document.ts';
import { patch } from './patch.ts';

const root = need('app');
const said = need('said');
const session = tabSession();

/** `getRandomValues` is there over plain HTTP too, `randomUUID` is not. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** What stands in the page already stays where the document does not come. */
async function start(): Promise<void> {
  let document: ApiDocument;
  try {
    const response = await fetch(new URL('openapi.json', globalThis.document.baseURI), { credentials: 'omit' });
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    document = (await response.json()) as ApiDocument;
  } catch {
    said.textContent = 'Nothing can be tried now: the server does not answer. Load the page again.';
    said.classList.remove('unseen');
    return;
  }
  await open(document);
}

async function open(document: ApiDocument): Promise<void> {
  let waiting = false;
  /** Draws once for all that changed in one go. */
  const draw = (): void => {
    if (waiting) return;
    waiting = true;
    queueMicrotask(() => {
      waiting = false;
      const model = app.model();
      patch(root, docsPage(model, actions));
      globalThis.document.title = titleOf(model);
    });
  };
  const app = new DocsApp({
    fetch: (...args) => globalThis.fetch(...args),
    base: globalThis.document.baseURI,
    document,
    session,
    time: () => performance.now(),
    newKey,
    onChange: draw,
    say: (text) => {
      said.textContent = text;
    },
  });
  const look = (id: Promise<string>): void => void id.then(focusSoon);
  const signIn = async (token: string, remember: boolean): Promise<void> => {
    focusSoon((await app.signIn(token, remember)) ? 'title' : 'token');
  };
  const actions: DocsActions = {
    signIn: (token, remember) => void signIn(token, remember),
    signOut: () => {
      app.signOut();
      focusSoon('token');
    },
    search: (words) => app.search(words),
    edit: (field, value) => app.edit(field, value),
    fillBody: (all) => app.fillBody(all),
    send: () => look(app.send()),
    back: () => {
      app.back();
      focusSoon('send');
    },
    next: () => look(app.next()),
  };
  const choose = (): void => app.choose(decodeURIComponent(location.hash.slice(1)));
  addEventListener('hashchange', () => {
    // The link that skips to the operation leads into the page.
    if (location.hash === '#content') return;
    choose();
    focusSoon('title');
    scrollTo(0, 0);
  });
  choose();
  const kept = session.read();
  if (kept !== null) await app.signIn(kept, true);
}

void start();
