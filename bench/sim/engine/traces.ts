import fs from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Random } from './random.ts';
import type { SimRequest } from './request.ts';

const FIXTURES = path.join(import.meta.dirname, '../../../test/fixtures/traces');

/** A file below test/fixtures/traces; see the SOURCE.md beside it. */
export type TraceName = 'azure-llm-2023' | 'mooncake-conversation';

/** Reads a trace, with time made `faster` times faster: 3.4 gives 3.4 times as many requests a second. */
export function readTrace(name: TraceName, { faster }: { readonly faster: number }): readonly SimRequest[] {
  const text = gunzipSync(fs.readFileSync(path.join(FIXTURES, name, 'conversation.csv.gz'))).toString('utf8');
  return text
    .trimEnd()
    .split('\n')
    .slice(1)
    .map((line, id) => {
      const [ms = '', prompt = '', output = '', blocks = ''] = line.split(',');
      return {
        id,
        at: Number(ms) / faster,
        promptTokens: Number(prompt),
        outputTokens: Number(output),
        blocks: parseBlocks(blocks),
        model: null,
      };
    });
}

/** Requests at random moments, `rate` a second on average, of sizes drawn from those given. */
export function drawRequests(
  from: readonly SimRequest[],
  { rate, seconds, random }: { readonly rate: number; readonly seconds: number; readonly random: Random },
): readonly SimRequest[] {
  const drawn: SimRequest[] = [];
  for (let at = 0; ;) {
    at -= (Math.log(1 - random()) / rate) * 1000;
    const request = from[Math.floor(random() * from.length)];
    if (at >= seconds * 1000 || request === undefined) return drawn;
    drawn.push({ ...request, id: drawn.length, at });
  }
}

/** Gives each request one of so many models; the k-th is asked for 1/k times as often as the first (Zipf). */
export function withModels(
  requests: readonly SimRequest[],
  { models, random }: { readonly models: number; readonly random: Random },
): readonly SimRequest[] {
  const weights = Array.from({ length: models }, (_, rank) => 1 / (rank + 1));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return requests.map((request) => {
    let left = random() * total;
    const model = weights.findIndex((weight) => (left -= weight) < 0);
    return { ...request, model: Math.max(0, model) };
  });
}

/** `0 14-16` is 0, 14, 15, 16. */
function parseBlocks(text: string): readonly number[] {
  if (text === '') return [];
  return text.split(' ').flatMap((run) => {
    const [first = '', last = first] = run.split('-');
    const from = Number(first);
    return Array.from({ length: Number(last) - from + 1 }, (_, at) => from + at);
  });
}
