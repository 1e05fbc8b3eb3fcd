/** The person at the terminal can mend this. `message` is one line that says how. */
export class UserError extends Error {
  override readonly name = 'UserError';
}
