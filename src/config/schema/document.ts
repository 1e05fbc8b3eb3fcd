import { z } from 'zod';
import { adminSection } from './admin.ts';
import { auditSection } from './audit.ts';
import { authSection } from './auth.ts';
import { backendsSection } from './backend.ts';
import { breakersSection } from './breaker.ts';
import { budgetsSection } from './budget.ts';
import { classifiersSection } from './classifier.ts';
import { jobsSection } from './jobs.ts';
import { ledgerSection } from './ledger.ts';
import { listenSection } from './listen.ts';
import { aliasesSection, modelsSection } from './model.ts';
import { prioritiesSection } from './priority.ts';
import { redisSection } from './redis.ts';
import { routesSection } from './route.ts';
import {
  filterSection,
  limitsSection,
  responsesSection,
  retrySection,
  telemetrySection,
  timeoutsSection,
} from './running.ts';
import { serverSection } from './server.ts';
import { surgeSection } from './surge.ts';
import { zonesSection } from './zones.ts';
import { tenantDefaultsSection, tenantsSection } from './tenant.ts';

/** tokenlat.yaml. */
export const documentSchema = z
  .strictObject({
    version: z.literal(1, 'must be the number 1').describe('Version of this format.'),
    listen: listenSection.prefault({}),
    server: serverSection.prefault({}),
    redis: redisSection.optional(),
    auth: authSection,
    tenants: tenantsSection.default([]),
    tenant_defaults: tenantDefaultsSection.prefault({}),
    backends: backendsSection,
    models: modelsSection,
    aliases: aliasesSection.default({}),
    classifiers: classifiersSection.default([]),
    routes: routesSection.default([]),
    limits: limitsSection.prefault({}),
    timeouts: timeoutsSection.prefault({}),
    retry: retrySection.prefault({}),
    breakers: breakersSection.prefault({}),
    priorities: prioritiesSection.prefault({}),
    surge: surgeSection.optional(),
    zones: zonesSection.optional(),
    jobs: jobsSection.optional(),
    filter: filterSection.prefault({}),
    responses: responsesSection.prefault({}),
    ledger: ledgerSection.prefault({}),
    budgets: budgetsSection.prefault({}),
    telemetry: telemetrySection.prefault({}),
    admin: adminSection.optional(),
    audit: auditSection.optional(),
  })
  .meta({ title: 'TokenLat', description: 'Configuration of the TokenLat gateway.' });

/** The document with every default filled in; durations in milliseconds, sizes in bytes. */
export type ConfigDocument = z.output<typeof documentSchema>;
