import { configPage } from './config-page.ts';
import { errorsPage } from './errors-page.ts';

/** Path below the root to the text that should stand there. */
export function generatedPages(): ReadonlyMap<string, string> {
  return new Map([
    ['docs/configuration.md', configPage()],
    ['docs/errors.md', errorsPage()],
  ]);
}
