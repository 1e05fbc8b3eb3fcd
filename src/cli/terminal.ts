/** Where a command writes, and what it knows of its surroundings. */
export interface Terminal {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Is the output a screen that can be drawn over? */
  readonly screen: boolean;
  /** Unix milliseconds. */
  readonly time: () => number;
  /** Ends what goes on until somebody stops it. */
  readonly stopped: AbortSignal | null;
}

/** The one that this process has. */
export const processTerminal: Terminal = {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  env: process.env,
  screen: process.stdout.isTTY,
  time: () => Date.now(),
  stopped: null,
};
