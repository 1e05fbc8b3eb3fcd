import { z } from 'zod';
import { DURATION, formatDuration, formatSize, parseDuration, parseSize, SIZE } from '../units.ts';

const HOUR = 3_600_000;
const DURATION_FORM = 'must be a duration such as 500ms, 5s, 1m, 1h or 30d';
const SIZE_FORM = 'must be a size such as 64KiB or 8MiB';

/** A number without its unit deserves the same words as a text of a wrong form. */
const unlessMissing = (message: string) => (issue: { readonly input?: unknown }) => (issue.input === undefined ? undefined : message);

/** A duration as text, in milliseconds. */
export function duration({ min = 1, max = 24 * HOUR }: { readonly min?: number; readonly max?: number } = {}) {
  return z
    .string({ error: unlessMissing(DURATION_FORM) })
    .regex(DURATION, DURATION_FORM)
    .transform((text, context) => {
      const ms = parseDuration(text) ?? 0;
      if (ms >= min && ms <= max) return ms;
      context.addIssue(`must be between ${formatDuration(min)} and ${formatDuration(max)}`);
      return z.NEVER;
    });
}

/** A size as text, in bytes. */
export function size({ min, max }: { readonly min: number; readonly max: number }) {
  return z
    .string({ error: unlessMissing(SIZE_FORM) })
    .regex(SIZE, SIZE_FORM)
    .transform((text, context) => {
      const bytes = parseSize(text) ?? 0;
      if (bytes >= min && bytes <= max) return bytes;
      context.addIssue(`must be between ${formatSize(min)} and ${formatSize(max)}`);
      return z.NEVER;
    });
}

/** `always`, `never`, or a CEL expression over the request; checked with the rest of the configuration. */
export const replayRule = () => text();

export const text = () => z.string().min(1, 'must not be empty').max(4096);

/** A name that may stand in headers, metrics and URLs as it is. */
export const name = () =>
  z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, 'must be 1 to 63 letters, digits, ".", "_" or "-", and begin with a letter or digit');

/** A model's public name: as OpenAI's, and as hubs write them (`org/model:tag`). */
export const modelName = () =>
  z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}$/, 'must be 1 to 128 letters, digits or ._:/@+- and begin with a letter or digit');

/** An exact model name, or a prefix with `*` at its end. */
export const modelPattern = () =>
  z.string().regex(/^(?:[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}\*?|\*)$/, 'must be a model name, or the beginning of one with * at its end');

export const port = () => z.int().min(1).max(65_535);

/** Header names that may be set on a request to a backend. */
export const headerName = () =>
  z
    .string()
    .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/, 'must be a header name')
    .transform((header) => header.toLowerCase());

export const headerValue = () => z.string().regex(/^[\x20-\x7e]{0,8192}$/, 'must be visible ASCII without line breaks');
