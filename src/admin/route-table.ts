import type { AdminRoute } from './route.ts';
import { budgetRoutes } from './routes/budget-routes.ts';
import { deploymentRoutes } from './routes/deployment-routes.ts';
import { docsRoutes } from './routes/docs-routes.ts';
import { keyRoutes } from './routes/key-routes.ts';
import { lineRoutes } from './routes/line-routes.ts';
import { rolloutRoutes } from './routes/rollout-routes.ts';
import { spendRoutes } from './routes/spend-routes.ts';
import { runningRoutes } from './routes/running-routes.ts';
import { stateRoutes } from './routes/state-routes.ts';
import { tenantRoutes } from './routes/tenant-routes.ts';
import { uiRoutes } from './routes/ui-routes.ts';
import { readUi } from './ui/read-ui.ts';

/** Every route with records behind it: what OpenAPI tells of. */
export const apiRoutes: readonly AdminRoute[] = [
  ...keyRoutes,
  ...tenantRoutes,
  ...lineRoutes,
  ...budgetRoutes,
  ...deploymentRoutes,
  ...rolloutRoutes,
  ...spendRoutes,
  ...stateRoutes,
  ...runningRoutes,
];

/** Every route that the server answers. Reads the files of the dashboard. */
export function readRouteTable(): readonly AdminRoute[] {
  return [...apiRoutes, ...docsRoutes(apiRoutes), ...uiRoutes(readUi())];
}
