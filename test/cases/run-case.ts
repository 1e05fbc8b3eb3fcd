import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '../../src/app/wait-until.ts';
import type { LedgerEvent } from '../../src/core/ledger-event.ts';
import { PROCESSOR_CLUSTER } from '../../src/render/names.ts';
import type { CaseGateway } from './case-gateway.ts';
import { CLOCK, type StoreErrorPolicy } from './case-plan.ts';
import { fillPlaceholders, type Placeholders, scriptFor, wireRequest } from './case-request.ts';
import { signCaseJwt } from './case-tokens.ts';
import { judge, type Judgement } from './judge.ts';
import type { NotYet } from './not-yet.ts';
import { type CaseRecord, type Exchange, observationOf, type StepRecord } from './observe.ts';
import type { CaseJwt, CaseStep, Claim, Report } from './report.ts';
import { sendRequest } from './send-request.ts';
import { translated } from './vocabulary.ts';

export interface RunCaseOptions {
  readonly report: Report;
  readonly env: CaseGateway;
  readonly policy?: StoreErrorPolicy | null;
  readonly notYet?: NotYet | null;
  /** How long to look for what must come or go away after the last answer. */
  readonly patienceMs?: number;
}

export interface CaseResult extends Judgement {
  readonly record: CaseRecord;
  readonly tenant: string;
}

/** Cases whose set-up also asks for a request body in two pieces and an empty one. */
const CHUNKED = /request body in two pieces plus an empty one/;

/** Runs a case through its gateway and holds its claims against what was seen. */
export async function runCase({
  report,
  env,
  policy = null,
  notYet = null,
  patienceMs = 6000,
}: RunCaseOptions): Promise<CaseResult> {
  const run = new CaseRun(report, env, notYet?.steps ?? [], patienceMs);
  const steps = await run.steps();
  const claims = translated(report).filter((claim) => !isLeftOut(claim, notYet));
  const asks = (word: string): boolean => JSON.stringify(claims).includes(word);
  const probe = asks('probe.') ? await run.probe() : null;
  const booked = asks('ledger') || asks('within_ms') ? await run.bookings(steps) : { events: [], afterMs: null };
  const record: CaseRecord = {
    steps,
    probe,
    ledger: booked.events,
    bookedAfterMs: booked.afterMs,
    workerRestarts: env.gateway.log().filter(({ msg }) => String(msg).startsWith('worker ended')).length,
    openStreams: asks('processor.') ? await run.openStreams() : null,
  };
  const values = await run.placeholders(report.steps[0]?.jwt ?? null, 0);
  const judgement = judge(claims, {
    root: observationOf(record),
    policy,
    fill: (text) => fillPlaceholders(text, values),
  });
  return { ...judgement, record, tenant: run.tenant };
}

function isLeftOut(claim: Claim, notYet: NotYet | null): boolean {
  if (notYet === null || !('on' in claim)) return false;
  const ofStep = notYet.steps?.some((step) => claim.on.startsWith(`step[${step}].`)) ?? false;
  return ofStep || (notYet.claims?.some((start) => claim.on.startsWith(start)) ?? false);
}

interface Started {
  readonly step: CaseStep;
  readonly marks: ReadonlyMap<string, number>;
  readonly work: Promise<readonly Exchange[]>;
}

class CaseRun {
  readonly tenant: string;
  readonly #report: Report;
  readonly #env: CaseGateway;
  readonly #leftOut: readonly number[];
  readonly #patienceMs: number;
  readonly #started: (Started | null)[] = [];
  readonly #keySetFetches: number[] = [];
  readonly #begunAt = performance.now();
  #minute = 0;

  constructor(report: Report, env: CaseGateway, leftOut: readonly number[], patienceMs: number) {
    this.#patienceMs = patienceMs;
    this.#report = report;
    this.#env = env;
    this.#leftOut = leftOut;
    // Tokens of the reports name no tenant: there the subject stands for it.
    this.tenant = report.hint.auth === undefined ? report.id : 'user-1';
    for (const mock of env.backends.values()) mock.clear();
  }

  async steps(): Promise<readonly (StepRecord | null)[]> {
    for (const [index, step] of this.#report.steps.entries()) {
      if (this.#leftOut.includes(index)) {
        this.#started.push(null);
        continue;
      }
      await this.#before(step.before);
      await this.#at(step.at);
      this.#script(step);
      const marks = new Map([...this.#env.backends].map(([name, mock]) => [name, mock.requests.length]));
      const work = this.#send(step);
      this.#started.push({ step, marks, work });
      if (step.background) await this.#underWay(marks);
      else await work;
      this.#keySetFetches[index] = this.#env.keySet?.fetches() ?? 0;
    }
    return Promise.all(this.#started.map((_, index) => this.#record(index)));
  }

  /** A good request after the case, to see that all still works. */
  async probe() {
    const [name, mock] = [...this.#env.backends][0] ?? [];
    const model = this.#report.hint.backends.find((backend) => backend.name === name)?.serves[0];
    if (mock === undefined || model === undefined) throw new Error('nothing to probe');
    const answer = { id: 'p', object: 'chat.completion', created: 1, model };
    const choices = [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }];
    const usage = { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 };
    mock.respondWith({
      status: 200,
      headers: { 'content-type': 'application/json' },
      chunks: [JSON.stringify({ ...answer, choices, usage })],
    });
    const authorization = `Bearer ${(await this.placeholders(null, 0))['good_token']}`;
    const request = {
      method: 'POST',
      path: '/v1/chat/completions',
      headers: { 'content-type': 'application/json', authorization },
      body: { model, messages: [{ role: 'user', content: 'hi' }] },
    };
    return sendRequest(wireRequest(request, {}, this.#port, false));
  }

  async placeholders(jwt: CaseJwt | null, index: number): Promise<Placeholders> {
    const good = await this.#env.gateway.token({ tenant: this.tenant, sub: 'user-1' });
    if (jwt === null) return { good_token: good };
    const token = signCaseJwt(jwt, index);
    return { good_token: good, jwt: token, jwt_upper: token.toUpperCase() };
  }

  /** The case's bookings, once there is one for each request that reached a backend; a little later, to see one too many. */
  async bookings(
    steps: readonly (StepRecord | null)[],
  ): Promise<{ events: readonly LedgerEvent[]; afterMs: number | null }> {
    const ran = steps.filter((step) => step !== null);
    const expected = ran.reduce((sum, { exchanges, calls }) => sum + Math.min(exchanges.length, calls.length), 0);
    const read = async (): Promise<readonly LedgerEvent[]> =>
      (await this.#env.gateway.stores.ledger.read(this.tenant, null, 10_000)).map(({ event }) => event);
    const last = Math.max(...ran.flatMap(({ exchanges }) => exchanges.map(({ answer }) => answer.endedAt)));
    let billed = 0;
    const enough = await waitUntil(
      async () => {
        billed = (await read()).filter(({ chargedTo }) => chargedTo === 'tenant').length;
        return billed >= Math.max(1, expected);
      },
      { timeoutMs: this.#patienceMs },
    );
    const afterMs = enough ? performance.now() - last : null;
    await sleep(100);
    return { events: await read(), afterMs };
  }

  /** Streams that Envoy still has open to the processor: the number that stays, or that is left when our patience ends. */
  async openStreams(): Promise<number> {
    let open = Number.NaN;
    await waitUntil(
      async () => {
        const stats = await this.#env.gateway.envoyStats(`cluster.${PROCESSOR_CLUSTER}.upstream_rq_active`);
        open = Object.values(stats).reduce((sum, value) => sum + value, 0);
        if (Object.keys(stats).length === 0) open = Number.NaN;
        return open === 0;
      },
      { timeoutMs: this.#patienceMs },
    );
    return open;
  }

  get #port(): number {
    return Number(new URL(this.#env.gateway.origin).port);
  }

  #script(step: CaseStep): void {
    for (const [name, mock] of this.#env.backends) {
      const script = scriptFor(step.upstream, name);
      if (script !== null) mock.respondWith(script);
    }
  }

  async #send(step: CaseStep): Promise<readonly Exchange[]> {
    const one = async (index: number): Promise<Exchange> => {
      const values = await this.placeholders(step.jwt, index);
      const chunked = CHUNKED.test(this.#report.hint.note ?? '');
      const sent = wireRequest(step.request, values, this.#port, chunked);
      return { sent, answer: await sendRequest(sent) };
    };
    if (step.parallel > 1) return Promise.all(Array.from({ length: step.parallel }, (_, index) => one(index)));
    const exchanges: Exchange[] = [];
    for (let index = 0; index < step.repeat; index += 1) exchanges.push(await one(index));
    return exchanges;
  }

  async #underWay(marks: ReadonlyMap<string, number>): Promise<void> {
    const arrived = [...this.#env.backends].map(([name, mock]) => mock.waitForRequests((marks.get(name) ?? 0) + 1));
    await Promise.any(arrived);
    for (const one of arrived) one.catch(() => undefined);
  }

  async #record(index: number): Promise<StepRecord | null> {
    const started = this.#started[index];
    if (started === null || started === undefined) return null;
    const next = this.#started.slice(index + 1).find((later) => later !== null);
    const calls = [...this.#env.backends].flatMap(([backend, mock]) =>
      mock.requests
        .slice(started.marks.get(backend) ?? 0, next?.marks.get(backend))
        .map((request) => ({ backend, request })),
    );
    return {
      step: started.step,
      exchanges: await started.work,
      calls: calls.toSorted((a, b) => a.request.receivedAt - b.request.receivedAt),
      keySetFetches: this.#keySetFetches[index] ?? 0,
    };
  }

  /** What a report says happens first. Words that are not known fail the case. */
  async #before(words: string | null): Promise<void> {
    const { redis, keySet } = this.#env;
    for (const part of words?.split('; ') ?? []) {
      const ended = /^step (\d+) has ended$/.exec(part);
      if (ended !== null) await this.#started[Number(ended[1])]?.work;
      else if (/^while step \d+ runs$/.test(part)) continue;
      else if (/^(\d+) ms later$/.test(part)) await sleep(Number.parseInt(part, 10));
      else if (part === 'clock +35 s') await sleep(CLOCK.cooledMs);
      else if (part === 'clock +700 s') await sleep(CLOCK.agedMs);
      else if (part === 'key set now [A,B]') keySet?.publish(['A', 'B']);
      else if (part === 'key set endpoint returns 500') keySet?.publish(null);
      else if (part === 'stop Redis') await redis?.kill();
      else if (part === 'start Redis with an empty store') await redis?.restart();
      else if (part === 'wait 2 s') await sleep(2000);
      else throw new Error(`the case wants something unknown first: ${part}`);
    }
  }

  /** `second 59.0`: of the minute that the first such step waited for; `+3 s`: since the case began. */
  async #at(words: string | null): Promise<void> {
    if (words === null) return;
    const later = /^\+(\d+) s$/.exec(words);
    if (later !== null) return sleepUntil(this.#begunAt + Number(later[1]) * 1000, performance.now());
    const second = /^second (\d+(?:\.\d+)?)$/.exec(words);
    if (second === null) throw new Error(`the case wants an unknown time: ${words}`);
    const ms = Number(second[1]) * 1000;
    if (this.#minute === 0) {
      const minute = Math.floor(Date.now() / 60_000) * 60_000;
      this.#minute = minute + ms > Date.now() ? minute : minute + 60_000;
    }
    await sleepUntil(this.#minute + ms, Date.now());
  }
}

async function sleepUntil(then: number, now: number): Promise<void> {
  if (then > now) await sleep(then - now);
}
