import { Command } from 'commander';
import { untilStopped } from '../until-stopped.ts';

/** `tokenlat up`: everything on one machine. */
export function upCommand(): Command {
  return new Command('up')
    .description('run the server, Envoy, and Redis if the configuration names none')
    .option('-c, --config <file>', 'configuration file', 'tokenlat.yaml')
    .option('--state <folder>', 'where logs, sockets and data are kept', '.tokenlat')
    .action(async ({ config, state }: { config: string; state: string }) => {
      const [{ load }, { openLog }, { up }] = await Promise.all([
        import('../../app/load.ts'),
        import('../../app/open-log.ts'),
        import('../../app/up.ts'),
      ]);
      const { snapshot, warnings } = load(config, { ownRedis: true });
      const log = openLog(snapshot);
      for (const warning of warnings) log.warn('configuration', { path: warning.path, problem: warning.message });
      await untilStopped(log, async (onFatal) => {
        const running = await up({ path: config, stateDir: state, log, onFatal });
        process.stderr.write(
          `TokenLat serves ${running.url}${running.startedRedis ? ' (with a Redis of its own)' : ''}\n`,
        );
        return () => running.stop();
      });
    });
}
