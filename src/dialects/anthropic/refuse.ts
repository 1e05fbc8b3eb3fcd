import { GatewayError } from '../../core/error.ts';

/** For what Anthropic's Messages API has no place for: 400 with the field's name. */
export function unsupported(param: string, why: string): GatewayError {
  return new GatewayError('unsupported_parameter', `${param} cannot be used with this model: ${why}.`, { param });
}

/** For what has not the shape that OpenAI's API asks for. */
export function invalid(param: string, rule: string): GatewayError {
  return new GatewayError('invalid_value', `${param} must be ${rule}.`, { param });
}
