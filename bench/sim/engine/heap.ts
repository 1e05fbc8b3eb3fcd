/** A binary heap: `pop` gives the item with the smallest key, among equal keys the one that came first. */
export interface Heap<T> {
  readonly size: () => number;
  readonly push: (key: number, item: T) => void;
  readonly peekKey: () => number;
  /** The item that `pop` would give. */
  readonly peek: () => T | undefined;
  readonly pop: () => T | undefined;
}

interface Entry<T> {
  readonly key: number;
  readonly order: number;
  readonly item: T;
}

export function createHeap<T>(): Heap<T> {
  const entries: Entry<T>[] = [];
  let count = 0;

  const isBefore = (left: number, right: number): boolean => {
    const a = entries[left];
    const b = entries[right];
    if (a === undefined || b === undefined) return false;
    return a.key < b.key || (a.key === b.key && a.order < b.order);
  };

  const swap = (left: number, right: number): void => {
    const a = entries[left];
    const b = entries[right];
    if (a === undefined || b === undefined) return;
    entries[left] = b;
    entries[right] = a;
  };

  return {
    size: () => entries.length,
    push: (key, item) => {
      let at = entries.push({ key, order: count, item }) - 1;
      count += 1;
      while (at > 0) {
        const parent = (at - 1) >> 1;
        if (!isBefore(at, parent)) return;
        swap(at, parent);
        at = parent;
      }
    },
    peekKey: () => entries[0]?.key ?? Infinity,
    peek: () => entries[0]?.item,
    pop: () => {
      const first = entries[0];
      const last = entries.pop();
      if (first === undefined || last === undefined || entries.length === 0) return first?.item;
      entries[0] = last;
      for (let at = 0; ;) {
        const left = 2 * at + 1;
        const right = left + 1;
        let next = at;
        if (isBefore(left, next)) next = left;
        if (isBefore(right, next)) next = right;
        if (next === at) break;
        swap(at, next);
        at = next;
      }
      return first.item;
    },
  };
}
