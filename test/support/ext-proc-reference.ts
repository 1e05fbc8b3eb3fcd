import { join } from 'node:path';
import { loadSync } from '@grpc/proto-loader';

interface Method {
  readonly requestSerialize: (value: object) => Buffer;
  readonly requestDeserialize: (bytes: Buffer) => object;
  readonly responseSerialize: (value: object) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => object;
}

const services = loadSync(['envoy/service/ext_proc/v3/external_processor.proto', 'grpc/health/v1/health.proto'], {
  includeDirs: [join(import.meta.dirname, '../../proto')],
  keepCase: true,
  longs: Number,
  enums: String,
  defaults: false,
  oneofs: true,
}) as unknown as Readonly<Record<string, Readonly<Record<string, Method>>>>;

/** `ExternalProcessor.Process` by @grpc/proto-loader: the reference for our own codec, and the client side of tests. */
export const referenceProcess: Method = services['envoy.service.ext_proc.v3.ExternalProcessor']!['Process']!;

/** `Health.Check`, likewise. */
export const referenceCheck: Method = services['grpc.health.v1.Health']!['Check']!;

/** `google.protobuf.Value` as the loader writes it: its bundled struct.proto has camelCase names whatever the options say. */
export function referenceValue(value: unknown): object {
  if (value === null) return { nullValue: 'NULL_VALUE' };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'number') return { numberValue: value };
  if (typeof value === 'string') return { stringValue: value };
  if (Array.isArray(value)) return { listValue: { values: value.map(referenceValue) } };
  return { structValue: referenceStruct(value as Record<string, unknown>) };
}

/** `google.protobuf.Struct`, likewise. */
export function referenceStruct(object: Readonly<Record<string, unknown>>): object {
  return { fields: Object.fromEntries(Object.entries(object).map(([key, value]) => [key, referenceValue(value)])) };
}
