import { isHeldBack } from '../../core/stage.ts';
import type { CheckContext } from './finding.ts';

/** Rules about stages, where it is known how deployments stand: none goes back. */
export function checkStages({ document, decided, problem, warn }: CheckContext): void {
  document.models.forEach((model, index) =>
    model.deployments.forEach((entry, at) => {
      const path = ['models', index, 'deployments', at];
      const id = `${model.name}@${entry.backend}`;
      if (entry.percent > 0 && entry.stage !== 'gray')
        warn([...path, 'percent'], `has no effect while "${id}" is ${entry.stage}: it is for gray ones`);
      const known = decided(id);
      const configured = { upstreamModel: entry.model ?? model.name, stage: entry.stage };
      if (known === null || !isHeldBack(configured, known)) return;
      const way = known.stage === 'retired' ? `; "tokenlat deployments stage ${id} gray" begins anew` : '';
      problem([...path, 'stage'], `"${id}" is ${known.stage} and cannot go back to ${entry.stage}${way}`);
    }),
  );
}
