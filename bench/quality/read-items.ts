import { rowsOfCsv } from './csv.ts';

/** A question that a weak and a strong model answered: 1 right, 0 wrong. */
export interface PairItem {
  readonly text: string;
  readonly subject: string;
  readonly weak: number;
  readonly strong: number;
}

/** A question with the score of each of many models, 0..1. */
export interface ManyItem {
  readonly text: string;
  /** The set of questions that it is from. */
  readonly task: string;
  readonly scores: ReadonlyMap<string, number>;
}

const MMLU = 'routellm/evals/mmlu/responses/mmlu_';
const GSM8K = 'routellm/evals/gsm8k/gsm8k_responses.csv';

/** MMLU as GPT-4 (1106) and Mixtral 8x7B answered it, all subjects. */
export function mmluItems(files: ReadonlyMap<string, string>): readonly PairItem[] {
  return [...files].flatMap(([file, text]) =>
    file.startsWith(MMLU) ? pairsOf(text, file.slice(MMLU.length).replace('.csv', '')) : [],
  );
}

/** GSM8K, likewise. */
export const gsm8kItems = (files: ReadonlyMap<string, string>): readonly PairItem[] =>
  pairsOf(files.get(GSM8K) ?? '', 'gsm8k');

function pairsOf(text: string, subject: string): readonly PairItem[] {
  return rowsOfCsv(text)
    .slice(1)
    .map(([prompt = '', weak, strong]) => ({
      text: prompt,
      subject,
      weak: weak === 'True' ? 1 : 0,
      strong: strong === 'True' ? 1 : 0,
    }));
}

/** LLMRouter's questions, and what its models cost: dollars a million tokens. */
export interface ManySet {
  readonly train: readonly ManyItem[];
  readonly test: readonly ManyItem[];
  readonly prices: ReadonlyMap<string, number>;
  /** Questions of the test that were in the training part, too, and were taken out there. */
  readonly dropped: number;
}

interface Scored {
  readonly question: string;
  readonly scores: Readonly<Record<string, number>>;
}

export function manySet(files: ReadonlyMap<string, string>): ManySet {
  const read = (file: string): string => files.get(file) ?? '';
  const tasks = new Map(
    ['train', 'test'].flatMap((part) =>
      read(`data/example_data/query_data/default_query_${part}.jsonl`)
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => {
          const { query, task_name: task } = JSON.parse(line) as { query: string; task_name: string };
          return [query, task] as const;
        }),
    ),
  );
  const part = (name: string): readonly ManyItem[] =>
    (JSON.parse(read(`data/dcrouter_preprocessed/${name}.json`)) as readonly Scored[]).map(({ question, scores }) => ({
      text: question,
      task: tasks.get(question) ?? 'unknown',
      scores: new Map(Object.entries(scores).toSorted(([a], [b]) => (a < b ? -1 : 1))),
    }));
  const test = part('test');
  const asked = new Set(test.map(({ text }) => text));
  const all = part('train');
  const train = all.filter(({ text }) => !asked.has(text));
  const priced = JSON.parse(read('data/example_data/llm_candidates/default_llm.json')) as Readonly<
    Record<string, { readonly input_price: number }>
  >;
  const prices = new Map(
    [...(test[0]?.scores.keys() ?? [])].map((model) => [model, priced[model]?.input_price ?? NaN]),
  );
  return { train, test, prices, dropped: all.length - train.length };
}
