import { resolve } from 'node:path';
import { Command } from 'commander';
import { untilStopped } from '../until-stopped.ts';

interface ServeFlags {
  readonly config: string;
  readonly state: string;
  readonly envoyDir?: string;
}

/** `tokenlat serve`: the server alone, for an Envoy that runs elsewhere. */
export function serveCommand(): Command {
  return new Command('serve')
    .description('run the server alone, for an Envoy that you run')
    .option('-c, --config <file>', 'configuration file', 'tokenlat.yaml')
    .option('--state <folder>', 'where sockets between workers are kept', '.tokenlat')
    .option('--envoy-dir <folder>', "write Envoy's configuration there and keep it up to date")
    .action(async ({ config, state, envoyDir }: ServeFlags) => {
      const [{ load }, { openLog }, { serve }, { followEnvoyFiles }] = await Promise.all([
        import('../../app/load.ts'),
        import('../../app/open-log.ts'),
        import('../../app/serve.ts'),
        import('../../app/follow-envoy-files.ts'),
      ]);
      const loaded = load(config);
      const log = openLog(loaded.snapshot);
      for (const warning of loaded.warnings)
        log.warn('configuration', { path: warning.path, problem: warning.message });
      await untilStopped(log, async () => {
        const files = envoyDir === undefined ? null : followEnvoyFiles({ loaded, dir: resolve(envoyDir), log });
        const served = await serve({ loaded, runDir: state, log });
        log.info('serving', { workers: loaded.snapshot.server.workers, generation: loaded.snapshot.generation });
        return async () => {
          files?.close();
          await served.stop();
        };
      });
    });
}
