import type { TimedBytes } from './http-answer.ts';

/** An event as a client sees it. `at`: when its first byte came. */
export interface StreamEvent {
  readonly at: number;
  /** The values of its `data` fields joined with LF; null when it has none. */
  readonly data: string | null;
}

const LF = 10;
const CR = 13;

/**
 * Cuts a body into events as the WHATWG grammar says: LF, CR and CRLF end a line, an empty line ends an event. Blocks
 * without a data field dispatch nothing; they are kept with `data: null`, comments alone are not.
 */
export function readEvents(pieces: readonly TimedBytes[]): readonly StreamEvent[] {
  const events: StreamEvent[] = [];
  let line: number[] = [];
  let fields: string[] | null = null;
  let begun: number | null = null;
  let afterCr = false;

  const endLine = (): void => {
    const text = Buffer.from(line).toString('utf8');
    line = [];
    if (text === '') {
      if (fields !== null && begun !== null) {
        const data = fields.filter((field) => field.startsWith('data:'));
        events.push({ at: begun, data: data.length === 0 ? null : data.map(valueOf).join('\n') });
      }
      fields = null;
      begun = null;
    } else if (!text.startsWith(':')) {
      fields = [...(fields ?? []), text.includes(':') ? text : `${text}:`];
    }
  };

  for (const { at, bytes } of pieces) {
    for (const byte of bytes) {
      const isBreak = byte === LF || byte === CR;
      if (!(byte === LF && afterCr)) {
        if (isBreak) endLine();
        else {
          begun ??= at;
          line.push(byte);
        }
      }
      afterCr = byte === CR;
    }
  }
  return events;
}

/** The value of a field: one leading space is not part of it. */
function valueOf(field: string): string {
  const value = field.slice('data:'.length);
  return value.startsWith(' ') ? value.slice(1) : value;
}
