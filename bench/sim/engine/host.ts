import type { Agenda } from './agenda.ts';
import { createBlockCache, type BlockCache } from './block-cache.ts';
import { WELL, type Condition } from './condition.ts';
import { createModelShelf, type ModelShelf } from './model-shelf.ts';
import type { Random } from './random.ts';
import type { Attempt, HostLoad } from './request.ts';
import { createWorkClock } from './work-clock.ts';

/** How a kind of host serves. Its requests share one batch: every one decodes at the pace of all. */
export interface HostModel {
  /** Requests that run at the same time; further ones wait, first come, first served. */
  readonly slots: number;
  /** Tokens a second of one prompt on an idle host. */
  readonly prefillPerSecond: number;
  /** How much longer a prefill takes when all slots are taken, 0.5 for half as long again; in between it is linear. */
  readonly prefillSlowdown: number;
  /** Milliseconds a token on an idle host; twice that when all slots are taken, linear in between. */
  readonly msPerToken: number;
  /** Prefix blocks of `tokensPerBlock` tokens that are kept; 0 for none. */
  readonly cacheBlocks: number;
  readonly tokensPerBlock: number;
  /** Models that fit at the same time and how long one takes to load; null where all are always there. */
  readonly models: { readonly room: number; readonly loadMs: number } | null;
}

export interface HostOptions {
  readonly model: HostModel;
  /** A fixed factor on everything: 0.5 for hardware of half the speed. */
  readonly speed: number;
  readonly agenda: Agenda;
  readonly random: Random;
  readonly onFirstToken: (attempt: Attempt) => void;
  readonly onDone: (attempt: Attempt) => void;
}

/** What a host has done since the start. */
export interface HostWork {
  readonly requests: number;
  readonly promptTokens: number;
  readonly blocks: number;
  readonly cachedBlocks: number;
  readonly modelLoads: number;
}

export interface Host {
  /** Takes the attempt in, or says how it fails at once. */
  readonly accept: (attempt: Attempt) => 'taken' | 'error' | 'rejected';
  /** The client is gone: frees the slot or the place in the queue. */
  readonly cancel: (attempt: Attempt) => void;
  readonly setCondition: (condition: Condition) => void;
  readonly isFrozen: () => boolean;
  /** Attempts that stream at the moment. */
  readonly streaming: () => readonly Attempt[];
  readonly load: () => HostLoad;
  readonly work: () => HostWork;
}

/** A model host in virtual time. Every attempt that it takes ends once: by `onDone`, or by `cancel`. */
export function createHost({ model, speed, agenda, random, onFirstToken, onDone }: HostOptions): Host {
  const waiting: Attempt[] = [];
  const loading = createWorkClock<Attempt>();
  const prefill = createWorkClock<Attempt>();
  const decode = createWorkClock<Attempt>();
  const clocks = [loading, prefill, decode];
  const cache: BlockCache | null = model.cacheBlocks > 0 ? createBlockCache({ capacity: model.cacheBlocks }) : null;
  const shelf: ModelShelf | null = model.models === null ? null : createModelShelf(model.models);
  const work = { requests: 0, promptTokens: 0, blocks: 0, cachedBlocks: 0, modelLoads: 0 };
  const todo = new Map<Attempt, { readonly prefill: number; readonly decode: number }>();
  let condition: Condition = WELL;
  let unplan: () => void = () => {};

  const running = (): number => loading.size() + prefill.size() + decode.size();

  const advance = (): void => {
    for (const clock of clocks) clock.advance(agenda.now());
  };

  const setPaces = (): void => {
    const busy = model.slots === 1 ? 0 : Math.max(0, running() - 1) / (model.slots - 1);
    loading.setPace(condition.prefillSpeed === 0 ? 0 : 1);
    prefill.setPace(
      (speed * condition.prefillSpeed * model.prefillPerSecond) / 1000 / (1 + model.prefillSlowdown * busy),
    );
    decode.setPace((speed * condition.decodeSpeed) / model.msPerToken / (1 + busy));
  };

  const start = (attempt: Attempt): void => {
    const { promptTokens, outputTokens, blocks, model: wanted } = attempt.request;
    const cached = cache?.match(blocks) ?? 0;
    cache?.use(blocks);
    // The last token is always computed: its answer is the first one's input.
    const tokens = Math.max(1, promptTokens - cached * model.tokensPerBlock);
    work.requests += 1;
    work.promptTokens += tokens;
    work.blocks += blocks.length;
    work.cachedBlocks += cached;
    const place = wanted === null ? undefined : shelf?.use(wanted, agenda.now());
    if (place?.isLoad === true) work.modelLoads += 1;
    const waitMs = place === undefined ? 0 : place.readyAt - agenda.now();
    todo.set(attempt, { prefill: tokens * condition.burden, decode: (outputTokens - 1) * condition.burden });
    if (waitMs > 0) loading.add(attempt, waitMs);
    else prefill.add(attempt, tokens * condition.burden);
  };

  const fill = (): void => {
    while (running() < model.slots) {
      const next = waiting.shift();
      if (next === undefined) return;
      start(next);
    }
  };

  const plan = (): void => {
    unplan();
    setPaces();
    const next = Math.min(...clocks.map((clock) => clock.nextAt()));
    unplan = next === Infinity ? () => {} : agenda.at(next, proceed);
  };

  const proceed = (): void => {
    advance();
    const ended: Attempt[] = [];
    const began: Attempt[] = [];
    for (let item = loading.take(); item !== undefined; item = loading.take()) {
      prefill.add(item, todo.get(item)?.prefill ?? 0);
    }
    for (let item = decode.take(); item !== undefined; item = decode.take()) ended.push(item);
    for (let item = prefill.take(); item !== undefined; item = prefill.take()) {
      began.push(item);
      // The prefill gives the first token.
      const tokens = todo.get(item)?.decode ?? 0;
      if (tokens > 0) decode.add(item, tokens);
      else ended.push(item);
    }
    for (const attempt of ended) todo.delete(attempt);
    fill();
    plan();
    for (const attempt of began) onFirstToken(attempt);
    for (const attempt of ended) onDone(attempt);
  };

  return {
    accept: (attempt) => {
      if (condition.errorShare > 0 && random() < condition.errorShare) return 'error';
      if (condition.limit !== null && running() + waiting.length >= condition.limit) return 'rejected';
      advance();
      waiting.push(attempt);
      fill();
      plan();
      return 'taken';
    },
    cancel: (attempt) => {
      advance();
      const at = waiting.indexOf(attempt);
      if (at >= 0) waiting.splice(at, 1);
      for (const clock of clocks) clock.remove(attempt);
      todo.delete(attempt);
      fill();
      plan();
    },
    setCondition: (next) => {
      advance();
      condition = next;
      plan();
    },
    isFrozen: () => condition.decodeSpeed === 0,
    streaming: () => decode.items(),
    load: () => ({ running: running(), waiting: waiting.length }),
    work: () => ({ ...work }),
  };
}
