import type { Clock } from '../../core/ports/clock.ts';
import type { Decision } from '../../core/decision.ts';
import type { QueueRow } from '../../core/ports/live.ts';
import type { Metrics } from '../../core/ports/telemetry.ts';
import type { Deployment, Model, Snapshot } from '../../core/snapshot.ts';
import type { QueueBounds } from '../../lib/fair-queue/fair-queue.ts';
import { type Gates, shareOf } from './gates.ts';
import { type After, WaitingRoom } from './waiting-room.ts';

export interface RoomsOptions {
  readonly workers: number;
  readonly workerIndex: number;
  readonly clock: Pick<Clock, 'now'>;
  readonly after: After;
  readonly metrics: Pick<Metrics, 'queue' | 'waited'>;
  readonly gates: Pick<Gates, 'onRoom'>;
}

type Config = Pick<Snapshot, 'generation' | 'models' | 'priorities'>;

/**
 * Which candidates stand in for the first one at once, as indexes: those of its model that share its requests. Where the first
 * serves and the others merely stand behind it, it alone: they are for the time after a wait.
 */
export function poolOf({ models }: Pick<Snapshot, 'models'>, { candidates, route }: Decision): readonly number[] {
  const { deployment } = candidates[0];
  if ((route.score ?? null) === null && !isShared(models.get(deployment.model))) return [0];
  return candidates.flatMap((each, at) => (each.deployment.model === deployment.model ? [at] : []));
}

function larger(one: QueueBounds, other: QueueBounds): QueueBounds {
  return { size: Math.max(one.size, other.size), bytes: Math.max(one.bytes, other.bytes) };
}

function isShared(model: Model | undefined): boolean {
  return model !== undefined && (model.balance === 'load' || model.deployments.some(({ weight }) => weight > 0));
}

interface Known {
  readonly room: WaitingRoom;
  generation: number;
  /** Who of this generation has asked; not to be kept alive by it. */
  askers: WeakSet<Config>;
  bounds: QueueBounds;
}

/**
 * A waiting room for each model, kept over reloads; the newest generation sets its bounds. Two configurations of one generation,
 * of which each serves a part of the requests, share the room, and it is as large as the larger of both says.
 */
export class Rooms {
  readonly #options: RoomsOptions;
  readonly #rooms = new Map<string, Known>();

  constructor(options: RoomsOptions) {
    this.#options = options;
    options.gates.onRoom((gate) => this.#rooms.get(gate.model)?.room.roomAt(gate));
  }

  of(deployment: Deployment, config: Config): WaitingRoom {
    const known = this.#rooms.get(deployment.model);
    if (known !== undefined && (known.generation > config.generation || known.askers.has(config))) return known.room;
    const bounds = this.#boundsOf(deployment, config);
    const { generation, priorities } = config;
    const { batchShare } = priorities;
    if (known === undefined) {
      const room = new WaitingRoom({ ...this.#options, ...bounds, model: deployment.model, batchShare });
      this.#rooms.set(deployment.model, { room, generation, askers: new WeakSet([config]), bounds });
      return room;
    }
    const isNew = known.generation < generation;
    known.bounds = isNew ? bounds : larger(known.bounds, bounds);
    known.askers = isNew ? new WeakSet([config]) : known.askers.add(config);
    known.generation = generation;
    known.room.change(known.bounds, batchShare);
    return known.room;
  }

  /** To be called now and then: see `WaitingRoom.lookAround`. */
  lookAround(): void {
    for (const { room } of this.#rooms.values()) room.lookAround();
  }

  /** The rooms in which somebody waits, or did in the last minute. */
  rows(): readonly QueueRow[] {
    return [...this.#rooms.values()].flatMap(({ room }) => room.row() ?? []);
  }

  /** Has this worker places to wait in for that deployment's model? */
  hasPlaces(deployment: Deployment, config: Config): boolean {
    return this.#boundsOf(deployment, config).size > 0;
  }

  /** Deployments that share the requests wait together: their places are one queue. */
  #boundsOf(deployment: Deployment, { models }: Config): QueueBounds {
    const { workers, workerIndex } = this.#options;
    const model = models.get(deployment.model);
    const queues = (model?.deployments ?? [deployment]).map(({ queue }) => queue ?? { size: 0, bytes: 0 });
    const join = isShared(model)
      ? (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0)
      : (values: readonly number[]) => Math.max(...values);
    return {
      size: shareOf(join(queues.map(({ size }) => size)), workers, workerIndex),
      bytes: shareOf(join(queues.map(({ bytes }) => bytes)), workers, workerIndex),
    };
  }
}
