import type { Probes } from '../../core/probes.ts';
import type { Endpoint } from '../../core/endpoint.ts';
import type { Backend, Deployment } from '../../core/snapshot.ts';
import type { Ask, Question } from '../http/ask.ts';
import { askEndpoint } from './ask-endpoint.ts';
import { keepMs, type Probe, type ProbeDesk } from './probe.ts';
import { holdsModel, readModels } from './read-models.ts';

export interface ModelsProbeOptions {
  readonly key: string;
  readonly backend: Backend;
  readonly models: NonNullable<Probes['models']>;
  readonly allowLinkLocal: boolean;
  /** With the name by which decisions know each. */
  readonly targets: readonly { readonly deployment: Deployment; readonly incarnation: string }[];
  readonly ask: Ask;
  readonly trust?: Question['trust'];
}

const MAX_BYTES = 1_048_576;

/**
 * Reads which models are loaded. Of several endpoints all must have one: Envoy chooses among them. A list that cannot be read
 * says nothing, and what it said before runs out.
 */
export function createModelsProbe(options: ModelsProbeOptions, { findings, clock }: ProbeDesk): Probe {
  const { key, backend, models, allowLinkLocal, targets, ask, trust } = options;
  const { path, intervalMs, timeoutMs } = models;
  const asked = { backend, path, timeoutMs, maxBytes: MAX_BYTES, allowLinkLocal, ask, trust };

  async function listOf(endpoint: Endpoint): Promise<ReadonlySet<string>> {
    const { head, body } = await askEndpoint(asked, endpoint);
    const names = head.status === 200 ? readModels(body.toString('utf8')) : null;
    if (names === null) throw new Error(`answered ${head.status} without a list of models`);
    return names;
  }

  function tell(lists: readonly ReadonlySet<string>[]): void {
    const until = clock.now() + keepMs(models);
    for (const { deployment, incarnation } of targets) {
      const count = lists.filter((names) => holdsModel(names, deployment.upstreamModel)).length;
      const reason = count === lists.length ? 'model_loaded' : 'model_unloaded';
      const detail = lists.length === 1 ? '' : `at ${count} of ${lists.length} endpoints`;
      findings.set(incarnation, 'models', { factor: 1, reason, detail, until });
    }
  }

  return {
    key,
    backend: backend.name,
    kind: 'models',
    intervalMs,
    isPaid: false,
    async look() {
      try {
        tell(await Promise.all(backend.endpoints.map(listOf)));
        return true;
      } catch {
        return false;
      }
    },
    forget: () => targets.forEach(({ incarnation }) => findings.set(incarnation, 'models', null)),
  };
}
