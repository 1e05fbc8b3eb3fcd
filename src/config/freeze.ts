/** Freezes a tree of plain objects, arrays and maps, and gives it back. Bytes stay as they are: they cannot be frozen. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value) || ArrayBuffer.isView(value)) return value;
  if (value instanceof Map) {
    for (const [key, item] of value) {
      deepFreeze(key);
      deepFreeze(item);
    }
    for (const method of ['set', 'delete', 'clear'] as const) Object.defineProperty(value, method, { value: refuse });
    return Object.freeze(value);
  }
  for (const item of Object.values(value)) deepFreeze(item);
  return Object.freeze(value);
}

function refuse(): never {
  throw new TypeError('a configuration snapshot never changes');
}
