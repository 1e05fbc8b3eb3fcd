import type { Deployment, Live, Routing, Status } from '../data/wire.ts';
import { dayStarts } from '../text/zone-days.ts';
import { liveTotals } from '../views/live-view.ts';
import { failing } from '../views/models-view.ts';
import { worstOf } from '../views/part-view.ts';
import { TRAIL } from '../views/view-model.ts';
import type { LiveTrail, Room, ViewModel } from '../views/view-model.ts';
import { createApi, isToken } from './api.ts';
import type { Api } from './api.ts';
import { Feed } from './feed.ts';
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
  /** When the newest figures of the view came, Unix milliseconds; null = there are none yet. */
  readonly updatedAt: number | null;
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

/** What was typed could not even be sent. */
export const NOT_A_TOKEN: Problem = {
  kind: 'signed-out',
  what: 'This cannot be a token.',
  advice: 'A token is one line of letters, digits and signs, without blanks.',
  waitMs: null,
};
const NOTHING_SEEN: { readonly of: LiveTrail; readonly at: string } = {
  of: { running: [], requests: [], tokens: [] },
  at: '',
};
/** What was told last. */
const NOTHING_HEARD: { readonly problem: Problem | null; readonly failing: string } = { problem: null, failing: '' };

/** Everything that the dashboard does, without the document it is shown in. */
export class App {
  readonly #options: AppOptions;
  readonly #feed: Feed;
  #api: Api | null = null;
  #status: Status | null = null;
  /** How far the server's clock is ahead. */
  #ahead = 0;
  #choice: Choice;
  #signIn: PageModel['signIn'] = { problem: null, busy: false };
  #trail = NOTHING_SEEN;
  #heard = NOTHING_HEARD;

  constructor(options: AppOptions) {
    this.#options = options;
    this.#choice = options.choice;
    this.#feed = new Feed({
      time: () => this.#time(),
      later: options.later,
      onChange: () => this.#follow(),
      onSignedOut: (problem) => this.#lose(problem),
    });
  }

  model(): PageModel {
    const [status, api] = [this.#status, this.#api];
    const parts = status === null ? [] : this.#wanted(this.#facts(status));
    return {
      signIn: this.#signIn,
      signedOut: status !== null && api === null,
      view: status === null ? null : this.#view(status),
      updatedAt: parts.reduce<number | null>((last, { at }) => (at !== null && at > (last ?? 0) ? at : last), null),
      problem: api === null ? this.#signIn.problem : worstOf(parts),
    };
  }

  /** Tries the token. `remember`: keep it for this tab. True when it opens the API. */
  async signIn(token: string, remember: boolean): Promise<boolean> {
    const { fetch, base, session } = this.#options;
    if (!isToken(token)) return this.#refuse(NOT_A_TOKEN);
    this.#signIn = { problem: null, busy: true };
    this.#options.onChange();
    const api = createApi({ fetch, base, token });
    const result = await api.get<Status>('status');
    if (!result.ok) return this.#refuse(result.problem);
    // Another caller must not see what the last one saw.
    this.#forget();
    this.#ahead = Date.parse(result.value.now) - this.#options.time();
    [this.#api, this.#status] = [api, result.value];
    this.#choice = { ...this.#choice, tenant: result.value.tenant };
    session.write(remember ? token : null);
    this.#follow();
    return true;
  }

  signOut(): void {
    this.#options.session.write(null);
    this.#forget();
    this.#choice = { ...this.#choice, tenant: null };
    this.#options.onChange();
  }

  choose(change: Partial<Choice>): void {
    this.#choice = { ...this.#choice, ...change };
    this.#follow();
  }

  /** Asks for all that is shown, now. */
  refresh(): void {
    this.#feed.refresh();
  }

  /** Does anybody look? */
  setSeen(seen: boolean): void {
    if (seen) this.#feed.resume();
    else this.#feed.pause();
  }

  #time(): number {
    return this.#options.time() + this.#ahead;
  }

  #refuse(problem: Problem): false {
    if (problem.kind === 'signed-out') this.#options.session.write(null);
    this.#signIn = { problem, busy: false };
    this.#options.onChange();
    return false;
  }

  #forget(): void {
    this.#feed.clear();
    [this.#api, this.#status] = [null, null];
    [this.#trail, this.#heard] = [NOTHING_SEEN, NOTHING_HEARD];
    this.#signIn = { problem: null, busy: false };
  }

  /** The token opens nothing any more: what is known stays to be seen, and nothing is asked. */
  #lose(problem: Problem): void {
    this.#feed.want([]);
    this.#api = null;
    this.#options.say(`${problem.what} ${problem.advice}`);
    this.#refuse(problem);
  }

  /** Asks for what is wanted now, takes what came, and tells what changed. */
  #follow(): void {
    this.#status = this.#feed.part<Status>(STATUS_KEY).value ?? this.#status;
    const [status, api] = [this.#status, this.#api];
    if (status !== null) {
      if (api !== null) this.#feed.want(needsOf(this.#asking(status, api), this.#feed));
      const facts = this.#facts(status);
      this.#trail = longer(this.#trail, facts.live.value);
      if (api !== null) this.#tell(worstOf(this.#wanted(facts)), facts.routing.value);
    }
    this.#options.onChange();
  }

  #tell(problem: Problem | null, routing: Routing | null): void {
    const { say } = this.#options;
    const before = this.#heard;
    if (problem !== null && problem.kind !== before.problem?.kind)
      say(`${problem.what} The figures are those of the last answer. ${problem.advice}`);
    if (problem === null && before.problem !== null) say('The figures are fresh again.');
    const broken = routing === null ? before.failing : namesOf(failing(routing));
    if (broken !== before.failing) say(broken === '' ? 'No deployment is failing any more.' : `Failing: ${broken}.`);
    this.#heard = { problem, failing: broken };
  }

  #asking(status: Status, api: Api) {
    return { api, status, choice: this.#choice, now: this.#time() };
  }

  #facts(status: Status): Facts {
    const { fetch, base } = this.#options;
    return factsOf(this.#asking(status, this.#api ?? createApi({ fetch, base, token: '' })), this.#feed);
  }

  #view(status: Status): ViewModel {
    const [choice, now] = [this.#choice, this.#time()];
    const { from, to } = daysOf({ status, choice, now });
    const starts = dayStarts(from, to, status.zone);
    const facts = this.#facts(status);
    return { choice, status, facts, trail: this.#trail.of, now, starts, room: this.#options.room() };
  }

  /** Parts of the chosen view; others may be old without anybody minding. */
  #wanted({ spend, top, budgets, quotas, live, routing, keys }: Facts) {
    const parts = {
      overview: [spend, budgets, live, routing],
      spend: [spend, top],
      budgets: [budgets],
      limits: [quotas],
      live: [live],
      models: [routing],
      keys: [keys],
    };
    return parts[this.#choice.view];
  }
}

const namesOf = (deployments: readonly Deployment[]): string => deployments.map(({ id }) => id).join(', ');

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
