class Text extends String {}

/** Often enough for the engine to remember the look-up. */
const LOOK_UPS = 1000;

/**
 * Makes reads of strings fast again. A class that extends `String`, as the Redis client has one, takes V8's short way to
 * `String.prototype` from every string of the process (`charCodeAt` in a loop is then five times slower), until a method was
 * looked up through such a class. Call it when such a class has been loaded.
 */
export function restoreFastStrings(): void {
  const text = new Text('a');
  for (let count = 0; count < LOOK_UPS; count += 1) firstUnit(text);
}

function firstUnit(text: Text): number {
  return text.charCodeAt(0);
}
