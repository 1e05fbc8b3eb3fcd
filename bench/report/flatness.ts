import type { SoakRow } from './results.ts';
import { spreadOf } from './spread.ts';

/**
 * Memory at regular times as medians of fifths of the whole time: what a process holds once it is warm, and at the end. The first
 * fifth is left out of both: what a burst before it took may still be given back. A median, since a garbage collector saws.
 */
export function flatness(rssMb: readonly number[]): SoakRow['rss_mb'] {
  const fifth = rssMb.length / 5;
  const of = (from: number): number =>
    Math.round(spreadOf(rssMb.slice(Math.floor(fifth * from), Math.ceil(fifth * (from + 1)))).median);
  return { second_fifth: of(1), last_fifth: of(4), most: Math.round(spreadOf(rssMb).max) };
}
