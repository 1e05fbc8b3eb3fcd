import { isFindingReason, isSource } from '../core/finding.ts';
import type { ProbeWord, RoutingWord } from '../core/ports/live.ts';
import type { Board } from './board.ts';
import type { Breakers } from './breakers.ts';

/** What another worker said. */
export interface Heard {
  /** Names the worker. */
  readonly peer: string;
  readonly word: RoutingWord;
}

export interface PeersOptions {
  readonly board: Board;
  readonly breakers: Breakers;
  /** For how long a word counts, milliseconds. */
  readonly keepMs: number;
  /** Does this worker probe for all, and has it looked at everything by now? */
  readonly probes?: () => boolean;
}

interface Adopted {
  readonly peer: string;
  readonly since: number;
}

/**
 * What workers tell each other: what they run, and which breakers opened by what they saw themselves. A breaker that was
 * opened by another's word goes on its way back when that word is taken back. No word of a peer keeps one open for ever:
 * each opening is taken over once. And what probes found, by the one worker that runs them.
 */
export class Peers {
  readonly #options: PeersOptions;
  readonly #adopted = new Map<string, Adopted>();
  readonly #seen = new Map<string, number>();
  readonly #probeTurns = new Map<string, number>();

  constructor(options: PeersOptions) {
    this.#options = options;
  }

  /** Our own word. `now`: milliseconds of the clock of the board. */
  say(now: number): RoutingWord {
    const { board, breakers, probes = () => false } = this.#options;
    return {
      running: [...board.load()],
      rests: board.rests(now),
      open: [...breakers.opened(now)].flatMap(({ incarnation, kind, state, since, isOwn }) =>
        isOwn && (state === 'soft' || state === 'hard') ? [[incarnation, kind, state, Math.round(since)] as const] : [],
      ),
      ...(probes() ? { probes: probeWord(board, now) } : {}),
    };
  }

  /** The words of all others that are there now. */
  hear(all: readonly Heard[], now: number): void {
    const { board, keepMs, probes = () => false } = this.#options;
    const stillOpen = new Set<string>();
    for (const { peer, word } of all) {
      board.heed(peer, new Map(word.running), now + keepMs);
      board.heedRests(word.rests ?? [], now);
      if (word.probes !== undefined && !probes()) this.#takeFindings(peer, word.probes, now);
      for (const [incarnation, kind, state, since] of word.open) {
        const name = `${incarnation}\n${kind}`;
        stillOpen.add(`${peer}\n${name}`);
        this.#take(name, { peer, since }, { incarnation, kind, state, now });
      }
    }
    for (const [name, { peer }] of this.#adopted) if (!stillOpen.has(`${peer}\n${name}`)) this.#release(name, now);
    this.#forget(stillOpen);
    const there = new Set(all.map(({ peer }) => peer));
    for (const peer of this.#probeTurns.keys()) if (!there.has(peer)) this.#probeTurns.delete(peer);
  }

  /** Each word once: one of a worker that died says nothing new, and what it said runs out. */
  #takeFindings(peer: string, { turn, found }: ProbeWord, now: number): void {
    if (this.#probeTurns.get(peer) === turn) return;
    this.#probeTurns.set(peer, turn);
    this.#options.board.findings.replace(
      found.flatMap(([incarnation, source, factor, reason, detail, forMs]) =>
        isSource(source) && isFindingReason(reason)
          ? [{ incarnation, source, finding: { factor, reason, detail, until: now + forMs } }]
          : [],
      ),
    );
  }

  #take(
    name: string,
    { peer, since }: Adopted,
    { incarnation, kind, state, now }: { incarnation: string; kind: string; state: 'soft' | 'hard'; now: number },
  ): void {
    const word = `${peer}\n${name}`;
    if (this.#seen.get(word) === since) return;
    this.#seen.set(word, since);
    if (this.#options.breakers.adopt(incarnation, kind, state, now)) this.#adopted.set(name, { peer, since });
  }

  #release(name: string, now: number): void {
    this.#adopted.delete(name);
    const [incarnation = '', kind = ''] = name.split('\n');
    this.#options.breakers.release(incarnation, kind, now);
  }

  #forget(stillOpen: ReadonlySet<string>): void {
    for (const word of this.#seen.keys()) if (!stillOpen.has(word)) this.#seen.delete(word);
  }
}

function probeWord({ findings }: Board, now: number): ProbeWord {
  return {
    turn: Math.round(now),
    found: [...findings.all(now)].map(({ incarnation, source, finding: { factor, reason, detail, until } }) => [
      incarnation,
      source,
      Math.round(factor * 1000) / 1000,
      reason,
      detail,
      Math.round(until - now),
    ]),
  };
}
