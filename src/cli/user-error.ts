/** The person at the terminal can mend this. `message` is one line that says how. */
export class UserError extends Error {
  override readonly name: string = 'UserError';
}

/** What was typed cannot be meant: an option is missing, or its value is none. */
export class WordsError extends UserError {
  override readonly name = 'WordsError';
}
