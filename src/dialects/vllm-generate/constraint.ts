import { GatewayError } from '../../core/error.ts';
import { isObject, type Json, type JsonObject, own } from '../../core/json.ts';
import type { GenerateOptions } from './options.ts';

/** A field of the upstream's request that binds the output to a form. */
export interface Constraint {
  readonly name: string;
  readonly value: Json;
}

/** What the client asked for, in the words of `structured_outputs`, and the field that said so. */
interface Asked {
  readonly param: string;
  readonly outputs: JsonObject;
}

const GUIDED = ['json', 'regex', 'choice', 'grammar'] as const;

/**
 * `response_format`, `guided_*` (vLLM before 0.12) and `structured_outputs` (since) in the form that the backend's version
 * knows; null when output is free. Throws `GatewayError`: two of them at once, or none that this backend can keep.
 */
export function constraintOf(json: JsonObject, kind: GenerateOptions['constraints']): Constraint | null {
  const asked = [...fromResponseFormat(json), ...fromGuided(json), ...fromStructuredOutputs(json)];
  const [one, second] = asked;
  if (one === undefined) return null;
  if (second !== undefined) {
    throw new GatewayError('invalid_value', `${second.param} cannot be combined with ${one.param}.`, {
      param: second.param,
    });
  }
  if (kind === 'structured_outputs') return { name: 'structured_outputs', value: one.outputs };
  if (kind === 'guided') return guided(one);
  throw unsupported(one.param);
}

function guided({ param, outputs }: Asked): Constraint {
  const names = Object.keys(outputs);
  const name = GUIDED.find((known) => known === names[0]);
  if (names.length === 1 && name !== undefined) return { name: `guided_${name}`, value: outputs[name] ?? null };
  if (names.length === 1 && outputs['json_object'] === true) return { name: 'guided_json', value: { type: 'object' } };
  throw unsupported(param);
}

function fromResponseFormat(json: JsonObject): Asked[] {
  const format = own(json, 'response_format');
  if (format === null) return [];
  const param = 'response_format';
  if (!isObject(format)) throw invalid(param, 'must be an object');
  const type = own(format, 'type');
  if (type === 'text') return [];
  if (type === 'json_object') return [{ param, outputs: { json_object: true } }];
  if (type !== 'json_schema') throw unsupported(`${param}.type`);
  const wrapper = own(format, 'json_schema');
  const schema = isObject(wrapper) ? own(wrapper, 'schema') : null;
  if (!isObject(schema)) throw invalid(`${param}.json_schema.schema`, 'must be a JSON schema');
  return [{ param, outputs: { json: schema } }];
}

function fromGuided(json: JsonObject): Asked[] {
  return GUIDED.flatMap((name) => {
    const param = `guided_${name}`;
    const value = own(json, param);
    return value === null ? [] : [{ param, outputs: { [name]: value } }];
  });
}

function fromStructuredOutputs(json: JsonObject): Asked[] {
  const param = 'structured_outputs';
  const value = own(json, param);
  if (value === null) return [];
  if (!isObject(value)) throw invalid(param, 'must be an object');
  return [{ param, outputs: value }];
}

function invalid(param: string, problem: string): GatewayError {
  return new GatewayError('invalid_value', `${param} ${problem}.`, { param });
}

function unsupported(param: string): GatewayError {
  return new GatewayError('unsupported_parameter', `${param} cannot be kept by this model service.`, { param });
}
