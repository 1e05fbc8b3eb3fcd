import type { Problem } from './problem.ts';
import type { FileReader } from './references.ts';
import { endpointList } from './schema/backend.ts';
import type { ConfigDocument } from './schema/document.ts';
import { type Plain, readYaml, type Substitute, type YamlSource } from './yaml-source.ts';

type Entry = ConfigDocument['backends'][number];

export interface EndpointFilesOptions {
  readonly source: YamlSource;
  readonly files: FileReader;
  readonly substitute: Substitute;
}

type Listed = { readonly endpoints: Entry['endpoints'] } | { readonly problems: readonly Problem[] };

/** The document with the endpoints of each backend that has them in a file. Faults in such a file are told at their place there. */
export function withEndpointFiles(
  document: ConfigDocument,
  options: EndpointFilesOptions,
): { readonly ok: true; readonly document: ConfigDocument } | { readonly ok: false; readonly problems: Problem[] } {
  const problems: Problem[] = [];
  const backends = document.backends.map((entry, index) => {
    if (entry.endpoints_file === undefined) return entry;
    const listed = listOf(entry, entry.endpoints_file, index, options);
    if ('endpoints' in listed) return { ...entry, endpoints: listed.endpoints };
    problems.push(...listed.problems);
    return entry;
  });
  return problems.length > 0 ? { ok: false, problems } : { ok: true, document: { ...document, backends } };
}

function listOf(
  entry: Entry,
  name: string,
  index: number,
  { source, files, substitute }: EndpointFilesOptions,
): Listed {
  const here = (message: string): Listed => ({
    problems: [source.at(['backends', index, 'endpoints_file'], message)],
  });
  if (entry.endpoints.length > 0) return here('says the same as endpoints: keep one');
  const read = files.text(name);
  if ('error' in read) return here(read.error);
  const file = readYaml(files.resolve(name), read.text, substitute);
  if (file.problems.length > 0) return { problems: file.problems };
  const { data } = file;
  const isWrapped = isMap(data) && 'endpoints' in data;
  const parsed = endpointList.safeParse(isWrapped ? data['endpoints'] : data);
  if (parsed.success) return { endpoints: parsed.data };
  return {
    problems: parsed.error.issues.map(({ path, message }) =>
      file.at([...(isWrapped ? ['endpoints'] : []), ...(path as (string | number)[])], message),
    ),
  };
}

const isMap = (data: Plain): data is { [key: string]: Plain } =>
  typeof data === 'object' && data !== null && !Array.isArray(data);
