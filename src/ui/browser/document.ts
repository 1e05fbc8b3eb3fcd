import type { Session } from '../client/app.ts';

const KEPT = 'tokenlat.token';

/** Keeps a token for this tab. Storage may be switched off: then nothing is remembered. */
export function tabSession(): Session {
  return {
    read: () => {
      try {
        return globalThis.sessionStorage.getItem(KEPT);
      } catch {
        return null;
      }
    },
    write: (token) => {
      try {
        if (token === null) globalThis.sessionStorage.removeItem(KEPT);
        else globalThis.sessionStorage.setItem(KEPT, token);
      } catch {
        // As above.
      }
    },
  };
}

/** Moves the focus when what is to be drawn is there: tasks come after the microtask that draws. */
export function focusSoon(id: string): void {
  setTimeout(() => document.querySelector<HTMLElement>(`#${CSS.escape(id)}`)?.focus());
}

/** An element that the page is made with. Throws where it is not. */
export function need(id: string): Element {
  const found = document.querySelector(`#${id}`);
  if (found === null) throw new Error(`the page has no #${id}`);
  return found;
}
