/** Something outside the program keeps it from starting. `message` is one line that says what to do. */
export class StartupError extends Error {
  override readonly name = 'StartupError';
}
