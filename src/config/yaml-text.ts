import { Document } from 'yaml';

/**
 * Plain data as YAML: block style, keys in the order given, no line folding, no aliases. Readers of YAML 1.1 (Envoy is one)
 * take a bare `on` or `n` for a boolean: such words are quoted.
 */
export function yamlText(value: unknown): string {
  return new Document(value, { aliasDuplicateObjects: false, compat: 'yaml-1.1' }).toString({
    lineWidth: 0,
    indentSeq: true,
  });
}
