import { App } from '../client/app.ts';
import { VIEWS } from '../client/needs.ts';
import type { View } from '../client/needs.ts';
import { page, TITLES } from '../views/page.ts';
import type { Actions } from '../views/page.ts';
import type { Room } from '../views/view-model.ts';
import { focusSoon, need, tabSession } from './document.ts';
import { patch } from './patch.ts';

/** As the style has it: the column of views, and what lies around and inside cards. */
const [SIDE, BESIDE, AROUND, INSIDE] = [832, 216, 56, 42];
const WIDEST = 1344;

const session = tabSession();
const viewOf = (hash: string): View => VIEWS.find((name) => `#/${name}` === hash) ?? 'overview';
const root = need('app');
const said = need('said');

const app = new App({
  fetch: (...args) => globalThis.fetch(...args),
  base: document.baseURI,
  session,
  choice: { view: viewOf(location.hash), tenant: null, days: 30 },
  time: () => Date.now(),
  later: (ms, done) => {
    const timer = setTimeout(done, ms);
    return () => clearTimeout(timer);
  },
  room: roomOf,
  onChange: draw,
  say: (text) => {
    said.textContent = text;
  },
});

/** In steps, so that a window that is drawn wider is not drawn anew for every pixel. */
function roomOf(): Room {
  const width = document.documentElement.clientWidth;
  const page = Math.min(WIDEST, width > SIDE ? width - BESIDE : width) - AROUND;
  const half = page >= 816 ? (page - 16) / 2 : page;
  const step = (of: number): number => Math.max(300, Math.floor((of - INSIDE) / 20) * 20);
  return { whole: step(page), half: step(half) };
}

const actions: Actions = {
  signIn: (token, remember) => void signIn(token, remember),
  signOut,
  choose: (change) => app.choose(change),
  refresh: () => app.refresh(),
};

let waiting = false;
/** Draws once for all that changed in one go. */
function draw(): void {
  if (waiting) return;
  waiting = true;
  queueMicrotask(() => {
    waiting = false;
    const model = app.model();
    patch(root, page(model, actions));
    document.title = `${model.view === null ? 'Sign in' : TITLES[model.view.choice.view]} \u2013 TokenLat`;
  });
}

async function signIn(token: string, remember: boolean): Promise<void> {
  const opened = await app.signIn(token, remember);
  focusSoon(opened ? 'title' : 'token');
}

function signOut(): void {
  app.signOut();
  focusSoon('token');
}

addEventListener('hashchange', () => {
  // The link that skips to the figures leads into the page, not to a view.
  if (!location.hash.startsWith('#/')) return;
  app.choose({ view: viewOf(location.hash) });
  focusSoon('title');
});
document.addEventListener('visibilitychange', () => app.setSeen(document.visibilityState === 'visible'));
globalThis.addEventListener('resize', draw);
app.setSeen(document.visibilityState === 'visible');

const kept = session.read();
draw();
if (kept === null) focusSoon('token');
else void signIn(kept, true);
