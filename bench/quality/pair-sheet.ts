import { foldsOf } from '../../src/lib/text-classes/folds.ts';
import { createTextClassifier } from '../../src/lib/text-classes/linear.ts';
import { readTextModel, writeTextModel } from '../../src/lib/text-classes/model-file.ts';
import { type QualityTable, shrunk, tabulate } from '../../src/lib/text-classes/quality-table.ts';
import { trainTextModel } from '../../src/lib/text-classes/train.ts';
import { atLeast, type Gate, type Plot, type Sheet } from '../sim/report/sheet.ts';
import { groupsOfCopies } from './near-duplicates.ts';
import type { PairItem } from './read-items.ts';
import { errorOfApgr, type Curve, routeCurve } from './route-curve.ts';

export const OURS = 'TokenLat';

const FOLDS = 5;

export interface PairSheetOptions {
  readonly id: string;
  readonly title: string;
  readonly about: string;
  readonly items: readonly PairItem[];
  /** The least APGR of our classes; null = no promise. */
  readonly gate: number | null;
  /** Is there more than one subject, so that knowing it says something? */
  readonly hasSubjects: boolean;
  /** Seeds of the folds. */
  readonly seeds: readonly number[];
  readonly progress: (words: string) => void;
}

interface Way {
  readonly name: string;
  readonly curve: Curve;
  readonly error: number | null;
}

/** One weak and one strong model: how much of the strong one is needed. */
export function pairSheet({ id, title, about, items, gate, hasSubjects, seeds, progress }: PairSheetOptions): Sheet {
  const copies = groupsOfCopies(items.map(({ text }) => text));
  const alone = items.map((_, at) => at);
  const scored = (name: string, scores: ArrayLike<number>): Way => ({
    name,
    curve: routeCurve(items, scores),
    error: errorOfApgr(items, scores),
  });
  const runs = seeds.map((seed) => {
    progress(`${id}: folds ${seed}`);
    return [
      scored(OURS, byOurClasses(items, alone, seed)),
      scored(`${OURS}, copies apart`, byOurClasses(items, [...copies], seed)),
    ];
  });
  const ways: readonly Way[] = [
    { name: 'random', curve: routeCurve(items, new Float64Array(items.length)), error: null },
    scored(
      'length of the prompt',
      items.map(({ text }) => text.length),
    ),
    ...(hasSubjects ? [scored('table by subject, which it is told', bySubject(items, seeds[0] ?? 1))] : []),
    ...[0, 1].map((way) => meanOf(runs.map((run) => run[way] as Way))),
    scored(
      'oracle',
      items.map(({ weak, strong }) => strong - weak),
    ),
  ];
  const ours = ways.filter(({ name }) => name.startsWith(OURS));
  return {
    id,
    title,
    about: `${about} ${copiesWords(items, copies)}`,
    columns: [
      { key: 'cpt50', title: 'CPT50', digits: 3 },
      { key: 'cpt80', title: 'CPT80', digits: 3 },
      { key: 'apgr', title: 'APGR', digits: 3 },
      { key: 'error', title: '± (standard error)', digits: 3 },
    ],
    rows: ways.map(({ name, curve: { cpt50, cpt80, apgr }, error }) => ({
      policy: name,
      figures: { cpt50, cpt80, apgr, ...(error === null ? {} : { error }) },
    })),
    gates: gate === null ? [] : ours.map(({ name, curve }): Gate => atLeast(`APGR, ${name}`, curve.apgr, gate, 3)),
    plots: [plotOf(id, title, ways)],
  };
}

/** Means over the seeds; the points of the first. */
function meanOf(ways: readonly Way[]): Way {
  const [first] = ways as readonly [Way, ...Way[]];
  const mean = (of: (way: Way) => number): number => ways.reduce((sum, way) => sum + of(way), 0) / ways.length;
  return {
    name: first.name,
    curve: {
      apgr: mean(({ curve }) => curve.apgr),
      cpt50: mean(({ curve }) => curve.cpt50),
      cpt80: mean(({ curve }) => curve.cpt80),
      points: first.curve.points,
    },
    error: mean(({ error }) => error ?? 0),
  };
}

/** Each item's gap by the class that a model says which was learned without its fold. The class is all that counts. */
function byOurClasses(items: readonly PairItem[], groups: readonly number[], seed: number): Float64Array {
  return byFolds(items, groups, seed, (learned) => {
    const samples = learned.map((at) => {
      const { text, weak, strong } = items[at] as PairItem;
      return { text, class: null, quality: qualityOf(weak, strong), group: String(groups[at]) };
    });
    const { model, table } = trainTextModel(samples);
    // As a gateway would have it: from a file.
    const file = readTextModel(writeTextModel({ model, quality: table, samples: samples.length }));
    if ('fault' in file) throw new Error(file.fault.message);
    const classify = createTextClassifier(file.model);
    return ({ text }) => gapOf(file.quality, classify(text).class);
  });
}

/** What a table knows whom somebody tells the subject. */
const bySubject = (items: readonly PairItem[], seed: number): Float64Array =>
  byFolds(
    items,
    items.map((_, at) => at),
    seed,
    (learned) => {
      const table = tabulate(
        learned.map((at) => {
          const { subject, weak, strong } = items[at] as PairItem;
          return { class: subject, quality: qualityOf(weak, strong) };
        }),
      );
      return ({ subject }) => gapOf(table, subject);
    },
  );

const qualityOf = (weak: number, strong: number): ReadonlyMap<string, number> =>
  new Map([
    ['strong', strong],
    ['weak', weak],
  ]);

function gapOf(table: QualityTable, name: string): number {
  const of = (model: string): number => {
    const entry = table.get(model);
    return entry === undefined ? 0 : shrunk(entry.classes.get(name) ?? { mean: 0, n: 0 }, entry.mean);
  };
  return of('strong') - of('weak');
}

function byFolds(
  items: readonly PairItem[],
  groups: readonly number[],
  seed: number,
  learn: (learned: readonly number[]) => (item: PairItem) => number,
): Float64Array {
  const fold = foldsOf(groups, { folds: FOLDS, seed });
  const scores = new Float64Array(items.length);
  for (let out = 0; out < FOLDS; out += 1) {
    const score = learn(items.flatMap((_, at) => (fold[at] === out ? [] : [at])));
    for (const [at, item] of items.entries()) if (fold[at] === out) scores[at] = score(item);
  }
  return scores;
}

function copiesWords(items: readonly PairItem[], copies: Int32Array): string {
  const sizes = new Map<number, number>();
  for (const group of copies) sizes.set(group, (sizes.get(group) ?? 0) + 1);
  const several = [...sizes.values()].filter((size) => size > 1);
  const exact = items.length - new Set(items.map(({ text }) => text)).size;
  const inGroups = several.reduce((sum, size) => sum + size, 0);
  return (
    `Near-duplicates: ${exact} questions stand there twice word for word; ${inGroups} of ${items.length} have at least half of their runs of ` +
    `five words in common with another one (${several.length} groups, the largest of ${Math.max(1, ...several)}). *Copies apart* keeps each such group in one fold.`
  );
}

/** A curve with a point each hundredth is drawn well enough. */
function plotOf(id: string, title: string, ways: readonly Way[]): Plot {
  const thin = (points: Curve['points']): Curve['points'] => {
    const step = Math.max(1, Math.floor(points.length / 100));
    return points.filter((_, at) => at % step === 0 || at === points.length - 1);
  };
  return {
    file: `quality-${id}.svg`,
    title: `${title}: part of the gap that is recovered`,
    x: { title: 'share of questions for the strong model', most: 1 },
    y: { title: 'part recovered', most: 1.5 },
    lines: ways.map(({ name, curve }) => ({ name, points: thin(curve.points) })),
    marked: [],
  };
}
