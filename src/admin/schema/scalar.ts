import { z } from 'zod';

/** Text that logs, headers of CSV and screens show as it is: no control, format or half characters. */
const CLEAN = /^[^\p{C}\p{Zl}\p{Zp}]+$/u;

/** Short text for people. */
export const label = (max = 128) =>
  z.string().min(1, 'must not be empty').max(max).regex(CLEAN, 'must not hold control characters');

/** A name that may stand in headers, metrics and URLs as it is: as the configuration has it. */
export const name = () =>
  z
    .string()
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/,
      'must be 1 to 63 letters, digits, ".", "_" or "-", and begin with a letter or digit',
    );

/** A tenant as tokens name it. No slash: records of its parts are named `<tenant>/<part>`. */
export const tenantName = () =>
  z
    .string()
    .min(1, 'must not be empty')
    .max(256)
    .regex(/^(?!\.{1,2}$)[^\p{C}\p{Z}/]+(?: [^\p{C}\p{Z}/]+)*$/u, 'must not hold "/", control characters or outer spaces')
    .describe('Name of a tenant, as tokens and keys name it.');

/** An exact model name, or a prefix with `*` at its end: as the configuration has it. */
export const modelPattern = () =>
  z
    .string()
    .regex(
      /^(?:[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}\*?|\*)$/,
      'must be a model name, or the beginning of one with * at its end',
    );

export const keyId = () => z.string().regex(/^key_[0-9a-f]{20}$/, 'must be the id of a key');

export const modelName = () => z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}$/, 'must be a model name');

/** A time as RFC 3339 has it. */
export const time = () => z.iso.datetime({ offset: true, error: 'must be a time such as 2027-01-31T00:00:00Z' });

/** A time, or the start of a day in the zone of the ledger. */
export const timeOrDay = () =>
  z.union([z.iso.date(), time()], { error: 'must be a day such as 2027-01-31 or a time such as 2027-01-31T00:00:00Z' });

/** A scope of a client's key (RFC 6749). Scopes of the admin API are not for clients. */
export const clientScope = () =>
  z
    .string()
    .regex(/^(?!admin(?:$|:))[\x21\x23-\x5b\x5d-\x7e]{1,128}$/, 'must be a scope, and none that begins with "admin:"');

/** What the next page begins after. */
export const cursor = () => z.string().regex(/^[A-Za-z0-9_-]{1,2048}$/, 'must be a cursor from an earlier answer');

/** Query of a list, with what else it is narrowed by. */
export const pageQuery = (max = 200) => ({
  cursor: cursor().optional().describe('`next_cursor` of the page before.'),
  limit: z.int().min(1).max(max).default(50).describe('Entries of a page.'),
});

export const tenantQuery = () => tenantName().optional().describe("Default: the caller's tenant, or all.");

/** What goes out as a time. */
export const shownTime = () => z.iso.datetime().describe('UTC.');

/** Unix milliseconds as it is shown. */
export const showTime = (ms: number): string => new Date(ms).toISOString();

/** A page of a list. */
export const listOf = (item: z.ZodType) =>
  z.object({
    object: z.literal('list'),
    data: z.array(item),
    next_cursor: z.string().nullable().describe('null = this was the last page.'),
  });

export const storedFields = {
  version: z.int().describe('Counts its writes; the `ETag`.'),
  created_at: shownTime(),
  updated_at: shownTime(),
};
