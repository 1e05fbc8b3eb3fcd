import { resolve } from 'node:path';
import { Command } from 'commander';

interface RenderFlags {
  readonly config: string;
  readonly out?: string;
  readonly existing?: boolean;
  readonly also?: string;
}

/** `tokenlat envoy render`. */
export function envoyCommand(): Command {
  return new Command('envoy').description("make Envoy's configuration").addCommand(
    new Command('render')
      .description('write the bootstrap and the files it reads, or the pieces for an Envoy that you run')
      .option('-c, --config <file>', 'configuration file', 'tokenlat.yaml')
      .option('-o, --out <folder>', 'write files there; else print')
      .option('--also <file>', 'with the backends of this configuration, too: it is to be rolled out')
      .option('--existing', 'only the filter, cluster and route pieces')
      .action(async ({ config, out, also, existing = false }: RenderFlags) => {
        const [{ load }, { renderEnvoy }, { renderExisting }, { writeFiles }] = await Promise.all([
          import('../../app/load.ts'),
          import('../../render/render-envoy.ts'),
          import('../../render/render-existing.ts'),
          import('../../render/write-files.ts'),
        ]);
        const { snapshot: own } = load(config);
        const others = also === undefined ? [] : load(also).snapshot.backends;
        const snapshot = { ...own, backends: new Map([...others, ...own.backends]) };
        const { files } = existing
          ? renderExisting(snapshot)
          : renderEnvoy(snapshot, { nodeId: 'tokenlat', dir: resolve(out ?? '.') });
        if (out !== undefined) {
          writeFiles(out, files);
          process.stdout.write(`${[...files.keys()].map((name) => `${out}/${name}`).join('\n')}\n`);
          return;
        }
        for (const [name, content] of files) process.stdout.write(`# ── ${name}\n${content}\n`);
      }),
  );
}
