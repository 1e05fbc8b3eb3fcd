import { seededRandom } from '../../src/lib/hash32/seeded-random.ts';
import { createTextClassifier } from '../../src/lib/text-classes/linear.ts';
import { readTextModel, writeTextModel } from '../../src/lib/text-classes/model-file.ts';
import { type QualityTable, shrunk } from '../../src/lib/text-classes/quality-table.ts';
import { USUAL_TRAINING } from '../../src/lib/text-classes/limits.ts';
import { trainTextModel } from '../../src/lib/text-classes/train.ts';
import { deviation, mean } from '../sim/engine/figures.ts';
import { atLeast, type Row, type Sheet } from '../sim/report/sheet.ts';
import { OURS } from './pair-sheet.ts';
import type { ManyItem, ManySet } from './read-items.ts';

/** The part of the best single model's price that may be paid. */
const BUDGET = 0.5;
const STEP = 0.001;
const DEAREST = 1;

type Kind = 'tasks' | 'outcomes';

/** Settings that might have been chosen as well. */
const PENALTIES = [1, 3, 30];

/** Which model serves each item, with a chance of mixing two such ways. */
interface Mix {
  readonly quality: number;
  readonly cost: number;
  /** Expected quality of each item. */
  readonly each: readonly number[];
}

/** Many models with prices: as good as the best single one for half of its price? */
export function manySheet(set: ManySet, progress: (words: string) => void): Sheet {
  const { train, test, prices, dropped } = set;
  const singles = [...prices.keys()].map((model) => ({
    model,
    mix: mixOf(
      test,
      prices,
      test.map(() => model),
    ),
  }));
  const { model: bestModel, mix: best } = singles.reduce(better);
  const budget = best.cost * BUDGET;
  const { model: cheapModel, mix: cheap } = singles.filter(({ mix }) => mix.cost <= budget).reduce(better);
  const ways = [
    { name: `best single (${bestModel})`, mix: best },
    { name: `best single within the budget (${cheapModel})`, mix: cheap },
    { name: 'chance between the two', mix: blend(best, cheap, (budget - cheap.cost) / (best.cost - cheap.cost)) },
    ...(['tasks', 'outcomes'] as const).map((kind) => {
      progress(`llmrouter: classes by ${kind}`);
      return {
        name: `${OURS}, classes by ${kind}`,
        mix: ourMix(set, { kind, budget, penalty: USUAL_TRAINING.penalty }),
      };
    }),
    {
      name: 'oracle',
      mix: mixOf(
        test,
        prices,
        test.map(({ scores }) => oracleOf(scores, prices)),
      ),
    },
  ];
  const spread = (kind: Kind): string => {
    progress(`llmrouter: other settings, ${kind}`);
    const found = PENALTIES.map((penalty) => ourMix(set, { kind, budget, penalty }).quality);
    return `${Math.min(...found).toFixed(3)} to ${Math.max(...found).toFixed(3)}`;
  };
  const ours = ways.find(({ name }) => name.endsWith('by tasks'))?.mix ?? best;
  return {
    id: 'llmrouter',
    title: 'Nine models',
    about:
      `LLMRouter's ${test.length} test questions of ten tasks, its nine models and their prices. Learned from its ${train.length} training questions: ${dropped} ` +
      `more of them stand in the test, too, and were taken out. *Classes by tasks* are learned from the names of the tasks and know of a test question its text ` +
      `alone; *by outcomes* they are made of who answers better. How much a price counts is set so that the mean price is half of the best single model's, which takes ` +
      `the classes of the questions and no outcome. With ${test.length} questions a difference of ${(2 * errorBetween(ours, best)).toFixed(2)} is within chance (two standard errors). With other penalties (${PENALTIES.join(', ')}) the classes ` +
      `by tasks give ${spread('tasks')}, those by outcomes ${spread('outcomes')}.`,
    columns: [
      { key: 'quality', title: 'mean score', digits: 3 },
      { key: 'cost', title: '$ a million tokens', digits: 3 },
      { key: 'gain', title: 'to best single', digits: 3 },
      { key: 'error', title: '± (standard error)', digits: 3 },
    ],
    rows: ways.map(({ name, mix }): Row => ({
      policy: name,
      figures: {
        quality: mix.quality,
        cost: mix.cost,
        gain: mix.quality - best.quality,
        ...(mix === best ? {} : { error: errorBetween(mix, best) }),
      },
    })),
    gates: [atLeast('mean score at half of the price, classes by tasks, best single', ours.quality, best.quality, 3)],
    plots: [],
  };
}

const better = <T extends { readonly mix: Mix }>(a: T, b: T): T => (b.mix.quality > a.mix.quality ? b : a);

/** Classes of the test by a model that was learned from the training part, and the weight of the price that meets the budget. */
function ourMix(
  { train, test, prices }: ManySet,
  { kind, budget, penalty }: { readonly kind: Kind; readonly budget: number; readonly penalty: number },
): Mix {
  const samples = train.map(({ text, task, scores }) => ({
    text,
    class: kind === 'tasks' ? task : null,
    quality: scores,
  }));
  const { model, table } = trainTextModel(samples, { penalty });
  const file = readTextModel(writeTextModel({ model, quality: table, samples: samples.length }));
  if ('fault' in file) throw new Error(file.fault.message);
  const classify = createTextClassifier(file.model);
  const classes = test.map(({ text }) => classify(text).class);
  let dear: Mix | null = null;
  for (let weight = 0; weight < DEAREST; weight += STEP) {
    const chosen = new Map([...new Set(classes)].map((name) => [name, bestFor(file.quality, name, prices, weight)]));
    const mix = mixOf(
      test,
      prices,
      classes.map((name) => chosen.get(name) ?? ''),
    );
    if (mix.cost <= budget) return dear === null ? mix : blend(dear, mix, (budget - mix.cost) / (dear.cost - mix.cost));
    dear = mix;
  }
  throw new Error('no weight of the price meets the budget');
}

function bestFor(table: QualityTable, name: string, prices: ReadonlyMap<string, number>, weight: number): string {
  let best = '';
  let most = -Infinity;
  for (const [model, { mean, classes }] of table) {
    const value = shrunk(classes.get(name) ?? { mean: 0, n: 0 }, mean) - weight * (prices.get(model) ?? 0);
    if (value > most) {
      most = value;
      best = model;
    }
  }
  return best;
}

/** The cheapest of those that are best for just this question. */
function oracleOf(scores: ReadonlyMap<string, number>, prices: ReadonlyMap<string, number>): string {
  const most = Math.max(...scores.values());
  const good = [...scores].filter(([, score]) => score === most).map(([model]) => model);
  return good.reduce((a, b) => ((prices.get(b) ?? 0) < (prices.get(a) ?? 0) ? b : a));
}

function mixOf(test: readonly ManyItem[], prices: ReadonlyMap<string, number>, chosen: readonly string[]): Mix {
  const each = test.map(({ scores }, at) => scores.get(chosen[at] ?? '') ?? 0);
  return { quality: mean(each), cost: mean(chosen.map((model) => prices.get(model) ?? 0)), each };
}

/** `share` of the requests go the first way. */
const blend = (a: Mix, b: Mix, share: number): Mix => ({
  quality: share * a.quality + (1 - share) * b.quality,
  cost: share * a.cost + (1 - share) * b.cost,
  each: a.each.map((value, at) => share * value + (1 - share) * (b.each[at] ?? 0)),
});

/** Standard error of the difference of two ways, by drawing as many questions anew. */
function errorBetween(a: Mix, b: Mix): number {
  const random = seededRandom(9);
  const gains = a.each.map((value, at) => value - (b.each[at] ?? 0));
  const means = Array.from({ length: 500 }, () =>
    mean(gains.map(() => gains[Math.floor(random() * gains.length)] as number)),
  );
  return deviation(means);
}
