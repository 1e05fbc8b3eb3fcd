import type { Principal } from '../../core/principal.ts';

/** The longest model name that a pattern is held against. */
const MAX_NAME = 256;

/**
 * Does a pattern with any number of `*` (each any text, also none) match the whole name? Case-sensitive, every other
 * character is itself. Pieces are looked for from left to right, so there is nothing to go back to: linear.
 */
export function globMatches(pattern: string, name: string): boolean {
  const pieces = pattern.split('*');
  const first = pieces[0] ?? '';
  if (pieces.length === 1) return pattern === name;
  const last = pieces[pieces.length - 1] ?? '';
  if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last)) return false;
  const end = name.length - last.length;
  let at = first.length;
  for (const piece of pieces.slice(1, -1)) {
    const found = name.indexOf(piece, at);
    if (found < 0 || found + piece.length > end) return false;
    at = found + piece.length;
  }
  return true;
}

/**
 * May the principal use the model that it calls `name`? A grant holds for the name asked, or for the target where the name
 * is an alias. A grant of an alias does not open its target under the target's own name.
 */
export function modelAllowed(
  principal: Pick<Principal, 'models'>,
  name: string,
  config: { readonly aliases: ReadonlyMap<string, string> },
): boolean {
  if (name.length > MAX_NAME) return false;
  const target = config.aliases.get(name);
  return principal.models.some(
    (pattern) => globMatches(pattern, name) || (target !== undefined && globMatches(pattern, target)),
  );
}
