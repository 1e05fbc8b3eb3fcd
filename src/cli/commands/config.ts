import { Command } from 'commander';
import { formatProblems } from '../../config/problem.ts';
import { rolloutCommand } from './config-rollout.ts';

/** `tokenlat config check|schema|rollout`. */
export function configCommand(): Command {
  return new Command('config')
    .description('look at the configuration, and roll out another one')
    .addCommand(
      new Command('check')
        .description('say what is wrong with a configuration, by file, line and column')
        .argument('[file]', 'configuration file', 'tokenlat.yaml')
        .option('-c, --config <file>', 'the same, as an option')
        .action(async (file: string, { config }: { config?: string }) => {
          const { load } = await import('../../app/load.ts');
          const path = config ?? file;
          const { snapshot, warnings, files } = load(path);
          if (warnings.length > 0)
            process.stderr.write(`${formatProblems(warnings, (name) => files.get(name) ?? undefined)}\n`);
          const { backends, models, routes } = snapshot;
          const counts = [count(backends.size, 'backend'), count(models.size, 'model'), count(routes.length, 'route')];
          process.stdout.write(`${path}: fit to run (${counts.join(', ')})\n`);
        }),
    )
    .addCommand(rolloutCommand())
    .addCommand(
      new Command('schema').description('print the JSON Schema of tokenlat.yaml').action(async () => {
        const { renderJsonSchema } = await import('../../config/json-schema.ts');
        process.stdout.write(renderJsonSchema());
      }),
    );
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}
