import { Command } from 'commander';
import { printable } from '../printable.ts';

/** `tokenlat doctor`: what does not fit between this configuration and a running Envoy. */
export function doctorCommand(): Command {
  return new Command('doctor')
    .description("compare a running Envoy's configuration and counters with the server's")
    .option('-c, --config <file>', 'configuration file', 'tokenlat.yaml')
    .option('--admin <url>', "Envoy's admin address; default: from the configuration")
    .option('--json', 'print the findings as JSON')
    .action(async ({ config, admin, json = false }: { config: string; admin?: string; json?: boolean }) => {
      const { load } = await import('../../app/load.ts');
      const { inspectEnvoy } = await import('../../app/inspect-envoy.ts');
      const { snapshot } = load(config);
      const findings = await inspectEnvoy(snapshot, admin ?? `http://127.0.0.1:${snapshot.listen.adminPort}`);
      if (json) process.stdout.write(`${JSON.stringify(findings)}\n`);
      else if (findings.length === 0) process.stdout.write('nothing to mend\n');
      else {
        for (const { level, code, message, fix } of findings) {
          process.stdout.write(`${level.toUpperCase()} ${code}: ${printable(message)}\n    ${printable(fix)}\n`);
        }
      }
      if (findings.some(({ level }) => level === 'error')) process.exitCode = 1;
    });
}
