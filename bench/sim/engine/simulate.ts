import { createAgenda } from './agenda.ts';
import type { Change } from './condition.ts';
import { createHost, type Host, type HostModel, type HostWork } from './host.ts';
import type { PolicySpec } from './policy.ts';
import { createRandom } from './random.ts';
import type { Attempt, Outcome, SimRequest } from './request.ts';

/** Hosts, requests and what happens to them. */
export interface World {
  readonly model: HostModel;
  /** One entry a host: its speed, which is also the weight that an operator would configure. */
  readonly speeds: readonly number[];
  /** In order of arrival. */
  readonly requests: readonly SimRequest[];
  readonly changes: readonly Change[];
  readonly tries: number;
  /** An attempt without a first token by then is given up and tried elsewhere; a stream that stands still for as long is cut. */
  readonly patienceMs: number;
  readonly seed: number;
}

/** What a client saw. `ttftMs` and `totalMs` count from the request's arrival; null when there was none. */
export interface Answer {
  readonly request: SimRequest;
  readonly outcome: Outcome;
  readonly tries: number;
  readonly ttftMs: number | null;
  readonly totalMs: number;
}

export interface Pick {
  readonly at: number;
  readonly host: number;
  /** 1 for a request's first pick. */
  readonly number: number;
}

export interface Run {
  readonly answers: readonly Answer[];
  readonly picks: readonly Pick[];
  readonly hosts: readonly HostWork[];
}

/** A refusal takes this long, so that a host which fails at once is in flight for a moment, as in life. */
const REFUSAL_MS = 5;
const RETRY_AFTER_MS = 1000;

/** Runs all requests of a world through a policy. Throws RangeError when the policy picks a host that there is not. */
export function simulate(world: World, spec: PolicySpec): Run {
  const { model, requests, tries, patienceMs } = world;
  const agenda = createAgenda();
  const random = createRandom(world.seed);
  const answers: Answer[] = [];
  const picks: Pick[] = [];
  const live = new Map<Attempt, { firstAt: number | null; readonly tried: readonly number[]; giveUp: () => void }>();

  const hosts: readonly Host[] = world.speeds.map((speed) =>
    createHost({
      model,
      speed,
      agenda,
      random: createRandom(Math.floor(random() * 2 ** 32)),
      onFirstToken: (attempt) => {
        const state = live.get(attempt);
        if (state === undefined) return;
        state.firstAt = agenda.now();
        state.giveUp();
        policy.onFirstToken?.(attempt, agenda.now());
      },
      onDone: (attempt) => end(attempt, 'ok'),
    }),
  );
  const policy = spec.create({
    random: createRandom(Math.floor(random() * 2 ** 32)),
    hosts: hosts.map((host, at) => ({
      slots: model.slots,
      weight: world.speeds[at] ?? 1,
      cacheBlocks: model.cacheBlocks,
      modelRoom: model.models?.room ?? 0,
      load: host.load,
    })),
  });

  const hostAt = (index: number): Host => {
    const host = hosts[index];
    if (host === undefined) throw new RangeError(`${spec.name} picked host ${index} of ${hosts.length}`);
    return host;
  };

  const start = (request: SimRequest, tried: readonly number[]): void => {
    const now = agenda.now();
    const index = policy.pick(request, tried, now);
    if (index === null) {
      answers.push({ request, outcome: 'refused', tries: tried.length, ttftMs: null, totalMs: now - request.at });
      return;
    }
    const host = hostAt(index);
    const attempt: Attempt = { request, host: index, number: tried.length + 1, startedAt: now };
    picks.push({ at: now, host: index, number: attempt.number });
    live.set(attempt, { firstAt: null, tried: [...tried, index], giveUp: () => {} });
    const answer = host.accept(attempt);
    const state = live.get(attempt);
    if (state === undefined) return;
    state.giveUp =
      answer === 'taken'
        ? agenda.at(now + patienceMs, () => {
            host.cancel(attempt);
            end(attempt, 'timeout');
          })
        : agenda.at(now + REFUSAL_MS, () => end(attempt, answer));
  };

  const end = (attempt: Attempt, outcome: Outcome): void => {
    const state = live.get(attempt);
    if (state === undefined) return;
    live.delete(attempt);
    state.giveUp();
    const now = agenda.now();
    policy.onEnd?.(attempt, { outcome, now, retryAfterMs: outcome === 'rejected' ? RETRY_AFTER_MS : null });
    const { request } = attempt;
    // After the first token a client has seen part of the answer: nobody may try again.
    if (outcome !== 'ok' && state.firstAt === null && attempt.number < tries) start(request, state.tried);
    else {
      const ttftMs = state.firstAt === null ? null : state.firstAt - request.at;
      answers.push({ request, outcome, tries: attempt.number, ttftMs, totalMs: now - request.at });
    }
  };

  const cutStalled = (host: Host): void => {
    if (!host.isFrozen()) return;
    for (const attempt of host.streaming()) {
      host.cancel(attempt);
      end(attempt, 'stalled');
    }
  };

  const arrive = (index: number): void => {
    const request = requests[index];
    if (request === undefined) return;
    agenda.at(request.at, () => {
      arrive(index + 1);
      start(request, []);
    });
  };

  // Before the arrivals, so that a request meets a host as it is from that moment on.
  for (const change of world.changes) {
    agenda.at(change.at, () => {
      const host = hostAt(change.host);
      host.setCondition(change.condition);
      if (host.isFrozen()) agenda.at(agenda.now() + patienceMs, () => cutStalled(host));
    });
  }
  arrive(0);
  const { ticks } = policy;
  if (ticks !== undefined) {
    const tick = (): void => {
      ticks.tick(agenda.now());
      agenda.at(agenda.now() + ticks.everyMs, tick);
    };
    agenda.at(0, tick);
  }
  agenda.run(() => answers.length === requests.length);
  return { answers, picks, hosts: hosts.map((host) => host.work()) };
}
