/**
 * Reporter for `node --test` that writes lines of JSON: how long each file took, and last the counts of the whole call. Used beside
 * `spec`, to a file.
 * @param {AsyncIterable<{ type: string, data: { file?: string, counts?: Record<string, number>, duration_ms?: number } }>} source
 */
export default async function* counts(source) {
  for await (const { type, data } of source) {
    if (type !== 'test:summary') continue;
    // The summary of a single file names it; the one of the whole call does not.
    const told = data.file === undefined ? data.counts : { file: data.file, ms: data.duration_ms };
    yield `${JSON.stringify(told)}\n`;
  }
}
