/**
 * Reporter for `node --test` that writes one line of JSON: the counts of the whole call. Used beside `spec`, to a file.
 * @param {AsyncIterable<{ type: string, data: { file?: string, counts?: Record<string, number> } }>} source
 */
export default async function* counts(source) {
  for await (const event of source) {
    // The summary of a single file names it; the one of the whole call does not.
    if (event.type === 'test:summary' && event.data.file === undefined) yield `${JSON.stringify(event.data.counts)}\n`;
  }
}
