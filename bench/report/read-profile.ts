/** A function on a stack. `micros`: with everything that it called. */
export interface Frame {
  readonly name: string;
  /** `src/flow`, a package, or `node`: what boxes are coloured by. */
  readonly room: string;
  micros: number;
  readonly calls: Map<string, Frame>;
}

interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  readonly children?: readonly number[];
}

interface Profile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** Time in which nothing ran, or nothing of ours. */
const IDLE: ReadonlySet<string> = new Set(['(idle)', '(root)']);

/** Reads a `.cpuprofile`, without its first part `from` (0 to 1). Throws `SyntaxError` for what is none. */
export function readProfile(text: string, from: number): Frame {
  const { nodes, samples, timeDeltas } = JSON.parse(text) as Profile;
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const root: Frame = { name: 'all', room: '', micros: 0, calls: new Map() };
  const begin = timeDeltas.reduce((sum, delta) => sum + delta, 0) * from;
  let at = 0;
  samples.forEach((id, index) => {
    const micros = timeDeltas[index] ?? 0;
    at += micros;
    if (at >= begin) add(root, stackOf(id, byId, parents), micros);
  });
  return root;
}

function stackOf(
  leaf: number,
  byId: ReadonlyMap<number, ProfileNode>,
  parents: ReadonlyMap<number, number>,
): readonly ProfileNode[] {
  const stack: ProfileNode[] = [];
  for (let id: number | undefined = leaf; id !== undefined; id = parents.get(id)) {
    const node = byId.get(id);
    if (node !== undefined) stack.push(node);
  }
  return stack.toReversed().slice(1);
}

function add(root: Frame, stack: readonly ProfileNode[], micros: number): void {
  if (stack.length === 0 || stack.some(({ callFrame }) => IDLE.has(callFrame.functionName))) return;
  let frame = root;
  frame.micros += micros;
  for (const { callFrame } of stack) {
    const key = `${callFrame.functionName} ${callFrame.url}:${callFrame.lineNumber}`;
    let next = frame.calls.get(key);
    if (next === undefined) {
      const { name, room } = shown(callFrame);
      frame.calls.set(key, (next = { name, room, micros: 0, calls: new Map() }));
    }
    next.micros += micros;
    frame = next;
  }
}

function shown({ functionName, url, lineNumber }: ProfileNode['callFrame']): Pick<Frame, 'name' | 'room'> {
  const name = functionName === '' ? '(anonymous)' : functionName;
  if (url === '') return { name, room: 'engine' };
  if (url.startsWith('node:')) return { name, room: 'node' };
  const packaged = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url);
  if (packaged !== null) return { name, room: packaged[1] ?? '' };
  // The last of these in the path: the folder of the project may be called like one.
  const own = /^.*\/((?:src|bench)\/.*)$/.exec(url)?.[1] ?? 'elsewhere';
  return { name: `${name} ${own}:${lineNumber + 1}`, room: own.split('/').slice(0, 2).join('/') };
}
