import { parse, stringify } from 'yaml';

const LISTENER = 'listener.yaml';

/**
 * The rendered files with a gRPC access log of every request, where the gateway's own is of those that broke at the upstream.
 * Throws when no log has that filter.
 */
export function withWholeLog(files: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const listener: unknown = parse(files.get(LISTENER) ?? '');
  let found = 0;
  const strip = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(strip);
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value).filter(([key, inner]) => {
      const isFilter =
        key === 'filter' && typeof inner === 'object' && inner !== null && 'response_flag_filter' in inner;
      if (isFilter) found += 1;
      return !isFilter;
    });
    return Object.fromEntries(entries.map(([key, inner]) => [key, strip(inner)]));
  };
  const text = stringify(strip(listener));
  if (found === 0) throw new Error(`${LISTENER} has no access log of broken requests`);
  return new Map([...files, [LISTENER, text]]);
}
