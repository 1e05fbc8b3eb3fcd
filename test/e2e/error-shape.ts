import type { RawExchange } from './raw-exchange.ts';

/** Is the body of an answer OpenAI's error object, with all four of its fields? */
export function hasErrorShape(answer: Pick<RawExchange, 'body'>): boolean {
  try {
    const { error } = JSON.parse(answer.body) as { error: Record<string, unknown> };
    return (
      typeof error['message'] === 'string' &&
      typeof error['type'] === 'string' &&
      typeof error['code'] === 'string' &&
      error['param'] !== undefined
    );
  } catch {
    return false;
  }
}
