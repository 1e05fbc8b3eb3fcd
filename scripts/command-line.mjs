/**
 * Reads the words of a script's call. Where they ask for help, prints how it is called and ends with 0; where `read` says
 * that they are off, prints that in one line and ends with 2.
 * @template T
 * @param {{ readonly usage: string, readonly read: (words: string[]) => T }} options
 * @returns {T}
 */
export function commandLine({ usage, read }) {
  const words = process.argv.slice(2);
  if (asksHelp(words)) {
    process.stdout.write(`usage: ${usage}\n`);
    process.exit(0);
  }
  return orEnd(() => read(words));
}

/** @param {readonly string[]} words */
export function asksHelp(words) {
  return words.includes('--help') || words.includes('-h');
}

/**
 * What `read` gives; where it throws for words that are off, one line and exit code 2.
 * @template T
 * @param {() => T} read
 * @returns {T}
 */
export function orEnd(read) {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const isOfParser = 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
    // A fault of ours keeps its stack.
    if (!isOfParser && error.constructor !== Error) throw error;
    process.stderr.write(`${error.message.split('. ', 1)[0]} (--help tells what there is)\n`);
    process.exit(2);
  }
}

/**
 * For scripts that take no words but those named.
 * @param {readonly string[]} words
 * @param {readonly string[]} known
 */
export function refuseOthers(words, known) {
  const unknown = words.find((word) => !known.includes(word));
  if (unknown !== undefined) throw new Error(`no "${unknown}" here; there are ${known.join(', ') || 'no options'}`);
}

/**
 * For an option that takes names.
 * @param {string} option
 * @param {readonly string[]} names
 * @param {readonly string[]} known
 */
export function refuseUnknown(option, names, known) {
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`${option}: no ${unknown} here; there are ${known.join(', ')}`);
}

/**
 * The whole number of at least 1 that an option was given.
 * @param {string} option
 * @param {string} text
 */
export function positive(option, text) {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new Error(`${option}: ${text} is no number of at least 1`);
  return value;
}
