import { styleText } from 'node:util';
import { printable as word } from '../../src/cli/printable.ts';
import type { DemoResult } from './demo-requests.ts';

interface Recorded {
  readonly [key: string]: unknown;
}

/** Prints one request of the demo: the answer, where the time went, who served it and what it cost. */
export function printReport({ title, ok, answer, headers, trace }: DemoResult): void {
  const mark = ok ? styleText('green', 'ok  ') : styleText('red', 'FAIL');
  const event = (trace ?? {}) as Recorded;
  const usage = (event['usage'] ?? {}) as Recorded;
  const lines = [
    `${mark} ${styleText('bold', title)}`,
    `     answer     ${answer.length > 100 ? `${answer.slice(0, 100)}…` : answer}`,
    `     stations   ${stations(event)}`,
  ];
  const attempts = (event['attempts'] ?? []) as readonly Recorded[];
  if (attempts.length > 0) {
    lines.push(
      `     attempts   ${attempts.map((attempt) => `${word(attempt['backend'])} (${word(attempt['outcome'])})`).join(' → ')}`,
      `     tokens     ${word(usage['prompt_tokens'])} prompt + ${word(usage['completion_tokens'])} completion, cost ${word(event['cost'])} ${word(event['currency'])}`,
    );
  }
  const left = headers?.get('x-ratelimit-remaining-tokens');
  if (left !== null && left !== undefined)
    lines.push(
      `     left       ${left} tokens, ${headers?.get('x-ratelimit-remaining-requests')} requests this minute`,
    );
  process.stdout.write(`${lines.join('\n')}\n\n`);
}

function stations(event: Recorded): string {
  const records = (event['stations'] ?? []) as readonly Recorded[];
  return records.map((record) => `${word(record['station'])} ${word(record['micros'])} µs`).join(' · ');
}
