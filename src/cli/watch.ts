import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from './api-error.ts';
import type { Terminal } from './terminal.ts';
import { UserError } from './user-error.ts';

const EVERY_MS = 1000;
/** Home, and clear from there on. */
const REDRAW = '\u001b[H\u001b[J';

/** Shows what `draw` gives: once, or with `--watch` again each second. */
export async function show(
  terminal: Pick<Terminal, 'out' | 'screen' | 'stopped'>,
  flags: { readonly watch?: boolean },
  draw: () => Promise<string>,
): Promise<void> {
  if (flags.watch === true) await watch(terminal, draw);
  else terminal.out(await draw());
}

/**
 * Draws again each second, over the same place of a screen or below where there is none, until the terminal is stopped. What
 * passes by itself (the API is away, or busy) is shown instead; the rest is thrown.
 */
export async function watch(
  { out, screen, stopped }: Pick<Terminal, 'out' | 'screen' | 'stopped'>,
  draw: () => Promise<string>,
  everyMs: number = EVERY_MS,
): Promise<void> {
  for (let first = true; ; first = false) {
    if (stopped?.aborted === true) return;
    const text = await draw().catch((error: unknown) => {
      if (first || !passes(error)) throw error;
      return `${(error as Error).message}\n`;
    });
    out(screen ? REDRAW + text : first ? text : `\n${text}`);
    await sleep(everyMs, null, stopped === null ? {} : { signal: stopped }).catch(() => null);
  }
}

function passes(error: unknown): boolean {
  return error instanceof UserError || (error instanceof ApiError && (error.status === 429 || error.status >= 500));
}
