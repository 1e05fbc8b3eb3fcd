import { GatewayError } from '../../core/error.ts';
import type { Backend } from '../../core/snapshot.ts';

/** A backend's `options`, checked. */
export interface AnthropicOptions {
  /** Value of the header `anthropic-version`. */
  readonly version: string;
}

type Raw = Backend['options'];

const DEFAULT_VERSION = '2023-06-01';
const VERSION = /^\d{4}-\d{2}-\d{2}$/;
const checked = new WeakMap<Raw, AnthropicOptions>();

/** Reads a backend's `options`; one reading an object. Throws `GatewayError` (`internal_error`: it is the operator's fault). */
export function readAnthropicOptions(raw: Raw): AnthropicOptions {
  const known = checked.get(raw);
  if (known !== undefined) return known;
  for (const name of Object.keys(raw)) if (name !== 'version') throw wrong(name, 'is not an option of anthropic');
  const version = raw['version'] ?? DEFAULT_VERSION;
  if (typeof version !== 'string' || !VERSION.test(version))
    throw wrong('version', 'must be a date such as 2023-06-01');
  const options: AnthropicOptions = { version };
  checked.set(raw, options);
  return options;
}

function wrong(name: string, problem: string): GatewayError {
  return new GatewayError('internal_error', 'This model is not set up correctly.', {
    cause: new Error(`backend option ${name} ${problem}`),
  });
}
