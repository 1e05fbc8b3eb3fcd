/** Any thrown value as an error: itself, or one that says it. */
export function toError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
