import { Command } from 'commander';
import type { Up } from '../../app/up.ts';
import { isAnyAddress } from '../../lib/address/address.ts';
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
        process.stderr.write(`${servingLine(running)}\n`);
        return () => running.stop();
      });
    });
}

/** Says where requests go, who else can send some, and what was started besides. */
export function servingLine({
  url,
  loaded,
  startedRedis,
  silentRedis,
}: Pick<Up, 'url' | 'startedRedis' | 'silentRedis'> & Listening): string {
  const { address } = loaded.snapshot.listen;
  const more = [
    ...(startedRedis ? ['with a Redis of its own'] : []),
    ...(silentRedis === null ? [] : [`Redis does not answer at ${silentRedis}`]),
    ...(isAnyAddress(address) ? [`listen.address ${address}: open to other machines too`] : []),
  ];
  return `TokenLat serves ${url}${more.length === 0 ? '' : ` (${more.join('; ')})`}`;
}

interface Listening {
  readonly loaded: { readonly snapshot: { readonly listen: { readonly address: string } } };
}
