import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadSync } from '@grpc/proto-loader';

interface Field {
  readonly number: number;
  readonly type: string;
  readonly label: string;
  readonly of?: string;
  readonly oneof?: string;
}

interface DescriptorField {
  readonly name: string;
  readonly number: number;
  readonly type: string;
  readonly label: string;
  readonly typeName: string;
}

interface Descriptor {
  readonly name: string;
  readonly field: readonly DescriptorField[];
  readonly nestedType: readonly Descriptor[];
  readonly enumType: readonly Descriptor[];
  readonly value?: readonly { readonly name: string; readonly number: number }[];
}

const root = join(import.meta.dirname, '../../proto');
const table = JSON.parse(readFileSync(join(root, 'field-table.json'), 'utf8')) as {
  readonly messages: Readonly<Record<string, Readonly<Record<string, Field>>>>;
  readonly enums: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly methods: Readonly<Record<string, string>>;
};
const ours = Object.entries(
  loadSync(['envoy/service/ext_proc/v3/external_processor.proto', 'grpc/health/v1/health.proto'], {
    includeDirs: [root],
    keepCase: true,
  }),
).filter(([name]) => !name.startsWith('google.'));

const descriptors = ours.flatMap(([name, { type }]) =>
  type === undefined || typeof type === 'string' ? [] : [[name, type as unknown as Descriptor] as const],
);

/** Fields that stand inside a `oneof`, as `Message.field` to the oneof's name. The loader does not tell them apart. */
const oneofs = new Map<string, string>();
for (const file of ['service/ext_proc/v3/external_processor', 'config/core/v3/base', 'type/v3/http_status']) {
  let message = '';
  let oneof: string | null = null;
  for (const line of readFileSync(join(root, 'envoy', `${file}.proto`), 'utf8').split('\n')) {
    message = /^message (\w+)/.exec(line)?.[1] ?? message;
    oneof = /^ {2}oneof (\w+)/.exec(line)?.[1] ?? (line === '  }' ? null : oneof);
    const field = /^ {4}[\w.]+ (\w+) = \d+;/.exec(line)?.[1];
    if (oneof !== null && field !== undefined) oneofs.set(`${message}.${field}`, oneof);
  }
}

/** The leaf of a type name: the loader writes names relative to where they stand, and those of map entries in its own way. */
const leaf = (name: string | undefined): string =>
  ((name ?? '').split('.').at(-1) ?? '')
    .replace(/Entry$/, '')
    .replaceAll('_', '')
    .toLowerCase();

/** A map's entry: `Message.Filter_metadata` to the loader, `Message.FilterMetadataEntry` to all others. */
function mapEntry(loaderName: string): Readonly<Record<string, Field>> | undefined {
  const owner = loaderName.slice(0, loaderName.lastIndexOf('.'));
  const name = Object.keys(table.messages).find(
    (full) => full.startsWith(`${owner}.`) && full.endsWith('Entry') && leaf(full) === leaf(loaderName),
  );
  return name === undefined ? undefined : table.messages[name];
}

test('every message and field of ours is Envoy’s, with its number, type, label and oneof', () => {
  let fields = 0;
  const check = (fullName: string, message: Descriptor): void => {
    const theirs: Readonly<Record<string, Field>> | undefined = table.messages[fullName] ?? mapEntry(fullName);
    assert.ok(theirs, `${fullName} is not in the table`);
    for (const field of message.field) {
      const wanted: Field | undefined = theirs[field.name];
      assert.ok(wanted, `${fullName}.${field.name} is not in the table`);
      assert.deepEqual(
        {
          number: field.number,
          type: field.type.replace('TYPE_', '').toLowerCase(),
          label: field.label.replace('LABEL_', '').toLowerCase(),
          of: leaf(field.typeName),
          oneof: oneofs.get(`${fullName.split('.').at(-1)}.${field.name}`),
        },
        {
          number: wanted.number,
          type: wanted.type,
          label: wanted.label,
          of: leaf(wanted.of),
          oneof: wanted.oneof,
        },
        `${fullName}.${field.name}`,
      );
      fields++;
    }
    for (const nested of message.nestedType) check(`${fullName}.${nested.name}`, nested);
  };
  for (const [name, descriptor] of descriptors) if (descriptor.value === undefined) check(name, descriptor);
  assert.ok(oneofs.size >= 15, `only ${oneofs.size} members of oneofs were found`);
  assert.ok(fields >= 45, `only ${fields} fields were compared`);
});

test('every enumeration value of ours has Envoy’s number', () => {
  let values = 0;
  const check = (fullName: string, descriptor: Descriptor): void => {
    for (const { name: value, number } of descriptor.value ?? []) {
      assert.equal(table.enums[fullName]?.[value], number, `${fullName}.${value}`);
      values++;
    }
    for (const inner of descriptor.enumType ?? []) check(`${fullName}.${inner.name}`, inner);
  };
  for (const [name, descriptor] of descriptors) check(name, descriptor);
  assert.ok(values >= 20, `only ${values} values were compared`);
});

test('the services are called as Envoy calls them', () => {
  assert.equal(
    table.methods['envoy.service.ext_proc.v3.ExternalProcessor.Process'],
    'stream envoy.service.ext_proc.v3.ProcessingRequest -> stream envoy.service.ext_proc.v3.ProcessingResponse',
  );
  assert.equal(
    table.methods['grpc.health.v1.Health.Check'],
    'grpc.health.v1.HealthCheckRequest -> grpc.health.v1.HealthCheckResponse',
  );
});
