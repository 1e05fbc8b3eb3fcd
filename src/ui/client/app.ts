import type { Live, Routing, Status } from '../data/wire.ts';
import { dayStarts } from '../text/zone-days.ts';
import { liveTotals } from '../views/live-view.ts';
import { failing } from '../views/models-view.ts';
import { worstOf } from '../views/part-view.ts';
import { TRAIL } from '../views/view-model.ts';
import type { LiveTrail, Room, ViewModel } from '../views/view-model.ts';
import { createApi, isToken } from './api.ts';
import type { Api } from './api.ts';
import { createFeed } from './feed.ts';
import type { FeedOptions } from './feed.ts';
import { daysOf, factsOf, needsOf, STATUS_KEY } from './needs.ts';
import type { Choice, Facts } from './needs.ts';
import type { Problem } from './problem.ts';

/** Where a token is kept for this tab, when somebody wants that. */
export interface Session {
  readonly read: () => string | null;
  readonly write: (token: string | null) => void;
}

/** What the page shows. */
export interface PageModel {
  readonly signIn: { readonly problem: Problem | null; readonly busy: boolean };
  /** null until a token has opened the API. */
  readonly view: ViewModel | null;
  /** The token has stopped to open it: what is known stays, nothing is asked. */
  readonly signedOut: boolean;
  /** Why figures are old; null = they are not. */
  readonly problem: Problem | null;
}

export interface AppOptions extends Pick<FeedOptions, 'time' | 'later'> {
  readonly fetch: typeof globalThis.fetch;
  /** Address of the page. */
  readonly base: string;
  readonly session: Session;
  readonly choice: Choice;
  readonly room: () => Room;
  readonly onChange: () => void;
  /** Tells those who do not see the page what has changed. */
  readonly say: (text: string) => void;
}

export interface App {
  readonly model: () => PageModel;
  /** Tries the token. `remember`: keep it for this tab. True when it opens the API. */
  readonly signIn: (token: string, remember: boolean) => Promise<boolean>;
  readonly signOut: () => void;
  readonly choose: (change: Partial<Choice>) => void;
  readonly refresh: () => void;
  readonly setSeen: (seen: boolean) => void;
}

const NOT_A_TOKEN: Problem = {
  kind: 'signed-out',
  what: 'This cannot be a token.',
  advice: 'A token is one line of letters, digits and signs, without blanks.',
  waitMs: null,
};
const NO_TRAIL: LiveTrail = { running: [], requests: [], tokens: [] };

/** Everything that the dashboard does, without the document it is shown in. */
export function createApp(options: AppOptions): App {
  const { fetch, base, session, onChange, say } = options;
  let api: Api | null = null;
  let status: Status | null = null;
  /** How far the server's clock is ahead. */
  let ahead = 0;
  let { choice } = options;
  let signInState: PageModel['signIn'] = { problem: null, busy: false };
  let trail = { of: NO_TRAIL, at: '' };
  let heard = { problem: null as Problem | null, failing: '' };

  const time = (): number => options.time() + ahead;
  const feed = createFeed({
    time,
    later: options.later,
    onChange: () => follow(),
    onSignedOut: (problem) => {
      session.write(null);
      feed.want([]);
      api = null;
      signInState = { problem, busy: false };
      say(`${problem.what} ${problem.advice}`);
      onChange();
    },
  });

  const asking = (as: Status, by: Api) => ({ api: by, status: as, choice, now: time() });
  const factsFor = (as: Status): Facts => factsOf(asking(as, api ?? createApi({ fetch, base, token: '' })), feed);

  /** Asks for what is wanted now, takes what came, and tells what changed. */
  function follow(): void {
    status = feed.part<Status>(STATUS_KEY).value ?? status;
    if (status !== null && api !== null) feed.want(needsOf(asking(status, api), feed));
    if (status !== null) {
      const facts = factsFor(status);
      trail = longer(trail, facts.live.value);
      heard = tell(heard, { problem: api === null ? null : worstOf(wantedParts(facts)), routing: facts.routing.value });
    }
    onChange();
  }

  function tell(before: typeof heard, now: { readonly problem: Problem | null; readonly routing: Routing | null }) {
    if (now.problem !== null && now.problem.kind !== before.problem?.kind)
      say(`${now.problem.what} The figures are those of the last answer. ${now.problem.advice}`);
    if (now.problem === null && before.problem !== null) say('The figures are fresh again.');
    const broken =
      now.routing === null
        ? before.failing
        : failing(now.routing)
            .map(({ id }) => id)
            .join(', ');
    if (broken !== before.failing) say(broken === '' ? 'No deployment is failing any more.' : `Failing: ${broken}.`);
    return { problem: now.problem, failing: broken };
  }

  async function signIn(token: string, remember: boolean): Promise<boolean> {
    if (!isToken(token)) {
      signInState = { problem: NOT_A_TOKEN, busy: false };
      onChange();
      return false;
    }
    signInState = { problem: null, busy: true };
    onChange();
    const trial = createApi({ fetch, base, token });
    const result = await trial.get<Status>('status');
    if (!result.ok) {
      if (result.problem.kind === 'signed-out') session.write(null);
      signInState = { problem: result.problem, busy: false };
      onChange();
      return false;
    }
    signInState = { problem: null, busy: false };
    // Another caller must not see what the last one saw.
    feed.clear();
    [trail, heard] = [
      { of: NO_TRAIL, at: '' },
      { problem: null, failing: '' },
    ];
    ahead = Date.parse(result.value.now) - options.time();
    [api, status] = [trial, result.value];
    choice = { ...choice, tenant: status.tenant };
    session.write(remember ? token : null);
    follow();
    return true;
  }

  return {
    signIn,
    model: () => ({
      signIn: signInState,
      signedOut: status !== null && api === null,
      view: status === null ? null : viewOf(status),
      problem: status === null || api === null ? signInState.problem : worstOf(wantedParts(factsFor(status))),
    }),
    signOut: () => {
      session.write(null);
      feed.clear();
      [api, status, trail] = [null, null, { of: NO_TRAIL, at: '' }];
      signInState = { problem: null, busy: false };
      choice = { ...choice, tenant: null };
      onChange();
    },
    choose: (change) => {
      choice = { ...choice, ...change };
      follow();
    },
    refresh: () => feed.refresh(),
    setSeen: (seen) => (seen ? feed.resume() : feed.pause()),
  };

  function viewOf(as: Status): ViewModel {
    const now = time();
    const { from, to } = daysOf({ status: as, choice, now });
    const starts = dayStarts(from, to, as.zone);
    return { choice, status: as, facts: factsFor(as), trail: trail.of, now, starts, room: options.room() };
  }

  /** Parts of the chosen view; others may be old without anybody minding. */
  function wantedParts(facts: Facts) {
    const { spend, top, budgets, quotas, live, routing, keys } = facts;
    const parts = {
      overview: [spend, budgets, live, routing],
      spend: [spend, top],
      budgets: [budgets],
      limits: [quotas],
      live: [live],
      models: [routing],
      keys: [keys],
    };
    return parts[choice.view];
  }
}

/** One look more, once for each answer. */
function longer(trail: { readonly of: LiveTrail; readonly at: string }, live: Live | null) {
  if (live === null || live.at === trail.at) return trail;
  const { running, requests, tokens } = liveTotals(live);
  const next = (values: readonly number[], value: number): readonly number[] => [...values, value].slice(-TRAIL);
  return {
    at: live.at,
    of: {
      running: next(trail.of.running, running),
      requests: next(trail.of.requests, requests),
      tokens: next(trail.of.tokens, tokens),
    },
  };
}
