import { z } from 'zod';
import type { KeyRecord } from '../../core/directory.ts';
import { limitRule, limitRules } from './limit-rule.ts';
import { clientScope, label, modelPattern, name, shownTime, showTime, storedFields, tenantName, time } from './scalar.ts';

const tags = () =>
  z
    .record(name(), label(256))
    .refine((all) => Object.keys(all).length <= 32, 'must have at most 32 entries')
    .describe('Own notes, such as a cost centre.');

const fields = {
  name: label().describe('For people.'),
  subject: label(256),
  business_line: name().nullable().describe('A line of that tenant.'),
  models: z.array(modelPattern()).max(256).describe('Exact names or `prefix*`.'),
  scopes: z.array(clientScope()).max(32),
  tags: tags(),
  limits: limitRules(),
  expires_at: time().nullable(),
};

/** Body of a new key. */
export const keyCreate = z
  .strictObject({
    name: fields.name,
    tenant: tenantName(),
    subject: fields.subject.optional().describe('Whose requests they count as. Default: the name.'),
    business_line: fields.business_line.default(null),
    models: fields.models.default(['*']),
    scopes: fields.scopes.default([]),
    tags: fields.tags.default({}),
    limits: fields.limits.default([]),
    expires_at: fields.expires_at.default(null),
  })
  .meta({ id: 'KeyCreate' });

/** Body of a change: what is left out stays. */
export const keyPatch = z.strictObject(fields).partial().meta({ id: 'KeyPatch' });

export const keyRotate = z
  .strictObject({
    grace_seconds: z.int().min(0).max(2_592_000).default(0).describe('How long the old secret still opens. Default: 0.'),
  })
  .meta({ id: 'KeyRotate' });

const view = {
  object: z.literal('key'),
  id: z.string(),
  name: z.string(),
  hint: z.string().describe('Beginning and end of the secret, to be recognised by.'),
  status: z.enum(['active', 'expired', 'revoked']),
  tenant: z.string(),
  subject: z.string(),
  business_line: z.string().nullable(),
  models: z.array(z.string()),
  scopes: z.array(z.string()),
  tags: z.record(z.string(), z.string()),
  limits: z.array(limitRule),
  expires_at: shownTime().nullable(),
  revoked_at: shownTime().nullable(),
  previous_until: shownTime().nullable().describe('Until when the secret before the last rotation still opens.'),
  ...storedFields,
};

export const keyView = z.object(view).meta({ id: 'Key' });

export const keyWithSecret = z
  .object({
    ...view,
    secret: z.string().nullable().describe('Told once. null when this answer is a repetition.'),
  })
  .meta({ id: 'KeyWithSecret' });

/** A key as it goes out: neither its secret nor the hash of it. */
export function showKey(key: KeyRecord, now: number): z.output<typeof keyView> {
  const { expiresAt, revokedAt, previous } = key;
  return {
    object: 'key',
    id: key.id,
    name: key.name,
    hint: key.hint,
    status: revokedAt !== null ? 'revoked' : expiresAt !== null && expiresAt <= now ? 'expired' : 'active',
    tenant: key.tenant,
    subject: key.subject,
    business_line: key.businessLine,
    models: [...key.models],
    scopes: [...key.scopes],
    tags: { ...key.tags },
    limits: [...key.limits],
    expires_at: expiresAt === null ? null : showTime(expiresAt),
    revoked_at: revokedAt === null ? null : showTime(revokedAt),
    previous_until: previous === null ? null : showTime(previous.until),
    version: key.version,
    created_at: showTime(key.createdAt),
    updated_at: showTime(key.updatedAt),
  };
}
