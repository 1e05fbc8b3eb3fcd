import { renderJsonSchema } from '../../src/config/json-schema.ts';
import { code, GENERATED, table } from './markdown.ts';
import { rowsOf, type SchemaNode } from './schema-rows.ts';

const INTRODUCTION = `# Configuration

One YAML file, \`tokenlat.yaml\`. Editors complete and check it by its JSON Schema:
\`# yaml-language-server: $schema=…/schema/tokenlat.schema.json\` (also printed by \`tokenlat config schema\`).
Whole files: [minimal](../examples/minimal.yaml), [sidecar](../examples/sidecar.yaml), [pool](../examples/pool.yaml),
[Docker](../examples/compose/tokenlat.yaml), [every section](../examples/tokenlat.yaml).

- \`tokenlat config check FILE\` says what is wrong with it by file, line and column, and exits with 3.
- **References.** Inside any text: \`\${env:NAME}\`, \`\${env:NAME:-default}\`, \`\${file:PATH}\` (one line break at the end of the
  file is dropped), \`$\${\` for a plain \`\${\`. A reference that leads nowhere is an error. Secrets belong there, never into this
  file.
- **Paths** are relative to the folder of the file.
- **Units.** Durations: \`500ms\`, \`5s\`, \`1m\`, \`1h\`, \`30d\`. Sizes: \`64KiB\`, \`8MiB\`. A bare number is refused.
- **Reload.** A change of the file, or of one that it names, is taken up within a second. A request keeps the configuration that
  it began with. A file that is not fit to run changes nothing: the old one stays, the log and \`/readyz\` say why,
  \`tokenlat_anomalies_total{kind="config_refused"}\` counts it. That holds for an empty list in an \`endpoints_file\` too: the
  old endpoints stay.
- **Restart.** Only a restart changes \`server\` (with \`server.ops\`), \`redis\`, \`audit\`, \`telemetry\`,
  \`listen.admin_port\`, \`ledger.keep\`, \`ledger.max_events\`, and where the admin API listens: \`admin.address\`,
  \`admin.port\`, \`admin.tls\`, and whether there is one. The log and \`/readyz\` name what waits for it. Where \`admin\` is
  taken out, its API refuses everybody at once (503 \`admin_closed\`); the restart frees the port.
- Unknown keys are errors, with the nearest known name in the message.

In the tables \`[]\` stands for an entry of a list and \`<name>\` for a key of your choice. "required" means: within its parent.
`;

/** `docs/configuration.md`: every key of the JSON Schema. */
export function configPage(): string {
  const schema = JSON.parse(renderJsonSchema()) as SchemaNode;
  const sections = Object.entries(schema.properties ?? {}).map(([name, node]) => {
    const required = schema.required?.includes(name) === true;
    return section(name, node, required);
  });
  return [GENERATED, '', INTRODUCTION, ...sections].join('\n');
}

function section(name: string, node: SchemaNode, required: boolean): string {
  const rows = rowsOf(node, name);
  const about = [node.description, required ? 'Required.' : undefined].filter((text) => text !== undefined).join(' ');
  const body =
    rows.length === 0
      ? []
      : [
          '',
          table(
            ['key', 'value', 'default', 'meaning'],
            rows.map((row) => [code(row.key), row.type, row.fallback, row.meaning]),
          ),
        ];
  return [`## ${name}`, ...(about === '' ? [] : ['', about]), ...body, ''].join('\n');
}
