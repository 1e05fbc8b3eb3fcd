import fs from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
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

/** `0 14-16` is 0, 14, 15, 16. */
function parseBlocks(text: string): readonly number[] {
  if (text === '') return [];
  return text.split(' ').flatMap((run) => {
    const [first = '', last = first] = run.split('-');
    const from = Number(first);
    return Array.from({ length: Number(last) - from + 1 }, (_, at) => from + at);
  });
}
