import { placesOf, shareOf } from '../../core/places.ts';
import type { Deployment } from '../../core/snapshot.ts';
import type { Board } from '../../routing/board.ts';
import { incarnationOf } from './targets.ts';

/** Health of a deployment; of a pool the mean of its endpoints, by weight. */
export function healthOf(deployment: Deployment, board: Pick<Board, 'healthOf'>, now: number): number {
  return placesOf(deployment).reduce((sum, each) => sum + shareOf(each) * board.healthOf(incarnationOf(each), now), 0);
}

/** What runs there; of a pool at all endpoints together. */
export function runningOf(deployment: Deployment, board: Pick<Board, 'runningOf'>): number {
  return placesOf(deployment).reduce((sum, each) => sum + board.runningOf(incarnationOf(each)), 0);
}
