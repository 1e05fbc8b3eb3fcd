/** The model that `name` stands for through any chain of aliases; null when the chain is a circle. */
export function resolveAlias(aliases: Readonly<Record<string, string>>, name: string): string | null {
  const seen = new Set<string>();
  let current = name;
  while (Object.hasOwn(aliases, current)) {
    if (seen.has(current)) return null;
    seen.add(current);
    current = aliases[current] ?? current;
  }
  return current;
}
