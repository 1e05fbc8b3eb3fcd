/** The models that a host holds, the least recently used given up first. */
export interface ModelShelf {
  readonly has: (model: number) => boolean;
  /** Says when the model is ready (virtual milliseconds), and whether this use begins to load it. */
  readonly use: (model: number, now: number) => { readonly isLoad: boolean; readonly readyAt: number };
}

export function createModelShelf({ room, loadMs }: { readonly room: number; readonly loadMs: number }): ModelShelf {
  const readyAt = new Map<number, number>();
  return {
    has: (model) => readyAt.has(model),
    use: (model, now) => {
      const known = readyAt.get(model);
      readyAt.delete(model);
      const ready = known ?? now + loadMs;
      readyAt.set(model, ready);
      const [oldest] = readyAt.keys();
      if (readyAt.size > room && oldest !== undefined) readyAt.delete(oldest);
      return { isLoad: known === undefined, readyAt: ready };
    },
  };
}
