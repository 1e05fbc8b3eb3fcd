import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { untilStopped } from '../until-stopped.ts';
import { UserError, WordsError } from '../user-error.ts';

interface PickerFlags {
  readonly config: string;
  readonly backend?: string;
  readonly listen: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly tlsCa?: string;
  readonly plaintext?: boolean;
}

/** `tokenlat picker`: an Endpoint Picker for a mesh or a gateway that exists. */
export function pickerCommand(): Command {
  return new Command('picker')
    .description('pick endpoints for a proxy that you run (Endpoint Picker of the Gateway API inference extension)')
    .option('-c, --config <file>', 'configuration file', 'tokenlat.yaml')
    .option('--backend <name>', 'the pool to pick from; default: the only one there is')
    .option('--listen <address:port>', 'where proxies ask', '127.0.0.1:9002')
    .option('--tls-cert <file>', 'PEM file with the certificate chain')
    .option('--tls-key <file>', 'PEM file with its private key')
    .option('--tls-ca <file>', 'serve only clients with a certificate of this authority')
    .option('--plaintext', 'listen on an address that others can reach, without TLS')
    .action(async (flags: PickerFlags) => {
      const { config, backend = null, plaintext: allowPlaintext = false } = flags;
      const place = placeOf(flags.listen);
      const tls = tlsOf(flags);
      const [{ load }, { openLog }, { startPicker }] = await Promise.all([
        import('../../app/load.ts'),
        import('../../app/open-log.ts'),
        import('../../app/start-picker.ts'),
      ]);
      // Nothing is booked here that could be lost: what the file keeps in Redis matters to the gateway alone.
      const loaded = load(config, { ownRedis: true });
      const log = openLog(loaded.snapshot);
      for (const warning of loaded.warnings)
        log.warn('configuration', { path: warning.path, problem: warning.message });
      await untilStopped(log, async () => {
        const running = await startPicker({ loaded, backend, ...place, tls, allowPlaintext, log });
        log.info('picking', { address: running.address });
        return () => running.stop();
      });
    });
}

function placeOf(text: string): { readonly address: string; readonly port: number } {
  const [, address = '', digits = ''] = /^(.+):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (address === '' || port > 65_535) throw new WordsError('--listen must be an address and a port: 127.0.0.1:9002');
  return { address: address.replaceAll(/^\[|\]$/g, ''), port };
}

function tlsOf({ tlsCert, tlsKey, tlsCa }: PickerFlags) {
  if (tlsCert === undefined && tlsKey === undefined && tlsCa === undefined) return null;
  if (tlsCert === undefined || tlsKey === undefined) throw new WordsError('--tls-cert and --tls-key go together');
  return { cert: pem(tlsCert), key: pem(tlsKey), ca: tlsCa === undefined ? null : pem(tlsCa) };
}

function pem(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw new UserError(`${file} cannot be read`);
  }
}
