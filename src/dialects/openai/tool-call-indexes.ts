import type { Json } from '../../core/json.ts';

interface Call {
  readonly index: number;
  hasArguments: boolean;
}

interface Choice {
  /** The call last opened on each index of the upstream. */
  readonly open: Map<number, Call>;
  readonly byId: Map<string, Call>;
  readonly calls: Call[];
  readonly taken: Set<number>;
  /** Above every index taken. */
  next: number;
}

/**
 * Gives each tool call of a streamed answer an index of its own, as OpenAI's clients need to put it together. Servers leave
 * the index out (the place in the array counts then), or give all calls the same one (a new id then opens a new call, and
 * fragments without an id follow the call last opened on that index).
 */
export class ToolCallIndexes {
  readonly #choices = new Map<number, Choice>();

  /** The index that a fragment's call has for the client. */
  assign(choice: number, position: number, fragment: { readonly [key: string]: Json }): number {
    const state = this.#choice(choice);
    const told = fragment['index'];
    const upstream = Number.isSafeInteger(told) && (told as number) >= 0 ? (told as number) : position;
    const id = typeof fragment['id'] === 'string' && fragment['id'] !== '' ? fragment['id'] : null;
    const current = state.open.get(upstream);
    let call = id === null ? current : state.byId.get(id);
    if (call === undefined) {
      const index = state.taken.has(upstream) ? state.next : upstream;
      call = { index, hasArguments: false };
      state.taken.add(index);
      state.next = Math.max(state.next, index + 1);
      state.calls.push(call);
      if (id !== null) state.byId.set(id, call);
    }
    state.open.set(upstream, call);
    const fn = fragment['function'];
    const text =
      typeof fn === 'object' && fn !== null ? (fn as { readonly [key: string]: Json })['arguments'] : undefined;
    if (typeof text === 'string' && text !== '') call.hasArguments = true;
    return call.index;
  }

  /** Calls of a choice whose arguments are still the empty string, which is no JSON; each is told once. */
  withoutArguments(choice: number): readonly number[] {
    const calls = this.#choices.get(choice)?.calls.filter((call) => !call.hasArguments) ?? [];
    for (const call of calls) call.hasArguments = true;
    return calls.map((call) => call.index);
  }

  #choice(index: number): Choice {
    let choice = this.#choices.get(index);
    if (choice === undefined) {
      choice = { open: new Map(), byId: new Map(), calls: [], taken: new Set(), next: 0 };
      this.#choices.set(index, choice);
    }
    return choice;
  }
}
