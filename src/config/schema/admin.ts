import { z } from 'zod';
import { name, port, text } from './scalar.ts';

const token = z.strictObject({
  name: name().describe('For the audit; never the token itself.'),
  role: z
    .enum(['viewer', 'operator', 'admin'])
    .describe('`viewer` reads; `operator` manages keys, lines and budgets as well; `admin` also tenants, deletions and the audit.'),
  tenant: text().optional().describe('Only for this tenant. Default: for all.'),
  sha256: z
    .string()
    .regex(/^[0-9a-fA-F]{64}$/, 'must be a SHA-256 of 64 hex digits')
    .transform((hex) => hex.toLowerCase())
    .optional()
    .describe('SHA-256 of the token, in hex. Give this or `token`.'),
  token: z
    .string()
    .min(32, 'must be at least 32 characters')
    .optional()
    .describe('The token, as a reference: "${env:TOKENLAT_ADMIN_TOKEN}". Only its SHA-256 is kept.'),
  expires_at: z.iso
    .datetime({ offset: true, error: 'must be a time such as 2027-01-31T00:00:00Z' })
    .optional()
    .describe('Default: never.'),
});

export const adminSection = z
  .strictObject({
    address: text().default('127.0.0.1').describe('Any but a loopback address needs `tls`. Default: 127.0.0.1.'),
    port: port().default(9903).describe('Default: 9903.'),
    tls: z
      .strictObject({
        cert: text().describe('PEM file with the certificate chain.'),
        key: text().describe('PEM file with the private key.'),
        client_ca: text().optional().describe('PEM file: clients must show a certificate that it signed. Default: none is asked for.'),
      })
      .optional(),
    tokens: z.array(token).default([]).describe('Secrets that open the API.'),
    oidc: z
      .strictObject({
        global_tenants: z
          .array(text())
          .default([])
          .describe('Tenants whose tokens act for all tenants. Default: none; a token acts for its own tenant.'),
      })
      .optional()
      .describe('Lets tokens of `auth.issuers` in by a scope: `admin:viewer`, `admin:operator` or `admin:admin`.'),
  })
  .describe('The admin API, on a listener of its own. Left out: there is none.');
