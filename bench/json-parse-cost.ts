import { chatPayload } from './payload.ts';

const RUNS = 60;

/** CPU nanoseconds that decoding and one `JSON.parse` take for a byte of a chat with a prompt of 1 MB; the median of its runs. */
export function jsonParseCost(): number {
  const { body } = chatPayload({ name: 'json-parse', promptBytes: 1 << 20 });
  const costs = Array.from({ length: RUNS }, () => {
    const before = process.cpuUsage();
    JSON.parse(body.toString());
    const { user, system } = process.cpuUsage(before);
    return ((user + system) * 1000) / body.length;
  }).toSorted((one, other) => one - other);
  return costs[RUNS / 2] ?? Number.NaN;
}
