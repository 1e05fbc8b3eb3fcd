/** A JSON Schema, as far as the page tells of it. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: boolean | Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

interface Content {
  readonly [type: string]: { readonly schema: Schema };
}
interface WireAnswer {
  readonly $ref?: string;
  readonly description?: string;
  readonly content?: Content;
}
interface WireOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, WireAnswer>>;
}

/** The parts of `/admin/openapi.json` that the page reads. */
export interface ApiDocument {
  readonly info: { readonly title: string; readonly description: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, WireOperation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly responses: Readonly<Record<string, WireAnswer>>;
  };
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

/** One answer of an operation: its status, what it means, the types it may have, and the shape of its JSON. */
export interface Reply {
  readonly status: number;
  readonly meaning: string;
  readonly types: readonly string[];
  readonly schema: Schema | null;
}

export interface Operation {
  /** `key.create`; also the part of the address behind `#`. */
  readonly name: string;
  /** `key` */
  readonly group: string;
  /** `POST` */
  readonly method: string;
  /** `/admin/keys/{id}` */
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly Parameter[];
  readonly body: Schema | null;
  readonly replies: readonly Reply[];
  /** Does it change anything? */
  readonly write: boolean;
}

/** Every operation in the order of the document. */
export function operationsOf({ paths, components }: ApiDocument): readonly Operation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, wire]) => ({
      name: wire.operationId,
      group: wire.operationId.split('.', 1)[0] ?? '',
      method: method.toUpperCase(),
      path,
      summary: wire.summary,
      description: wire.description,
      parameters: wire.parameters,
      body: wire.requestBody?.content['application/json']?.schema ?? null,
      replies: Object.entries(wire.responses).map(([status, answer]) => replyOf(Number(status), answer, components)),
      write: method !== 'get',
    })),
  );
}

function replyOf(status: number, answer: WireAnswer, { responses }: ApiDocument['components']): Reply {
  const found = answer.$ref === undefined ? answer : (responses[nameOf(answer.$ref)] ?? {});
  const { description = '', content = {} } = found;
  return {
    status,
    meaning: description,
    types: Object.keys(content),
    schema: content['application/json']?.schema ?? null,
  };
}

/** The name behind a reference: `#/components/schemas/Key` is `Key`. */
export const nameOf = (ref: string): string => ref.slice(ref.lastIndexOf('/') + 1);

/** Do all words stand somewhere in what the operation is called, takes or tells? Case does not matter. */
export function matches(operation: Operation, words: string, schemas: ApiDocument['components']['schemas']): boolean {
  const { name, method, path, summary, description, parameters, body } = operation;
  const names = body === null ? [] : namesIn(body, schemas, []);
  const text = [name, method, path, summary, description, ...parameters.map((each) => each.name), ...names]
    .join('\n')
    .toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

function namesIn(
  schema: Schema,
  schemas: ApiDocument['components']['schemas'],
  above: readonly string[],
): readonly string[] {
  if (schema.$ref !== undefined) {
    const name = nameOf(schema.$ref);
    const found = schemas[name];
    return found === undefined || above.includes(name) ? [] : [name, ...namesIn(found, schemas, [...above, name])];
  }
  const inside = [
    ...(schema.anyOf ?? []),
    ...(schema.oneOf ?? []),
    ...(schema.items === undefined ? [] : [schema.items]),
  ];
  return [
    ...Object.entries(schema.properties ?? {}).flatMap(([name, each]) => [name, ...namesIn(each, schemas, above)]),
    ...inside.flatMap((each) => namesIn(each, schemas, above)),
  ];
}
