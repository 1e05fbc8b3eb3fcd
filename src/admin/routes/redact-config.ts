import type { Json } from '../../core/json.ts';

const SECRET_KEY = /(?:secret|password|passwd|token|api_?key|^key$|authorization|credential|sha256|private)/i;
const URL_WITH_PASSWORD = /^([a-z][a-z0-9+.-]*:\/\/)[^/@\s]*@/i;

/**
 * A second fence: whoever gives the effective configuration leaves secrets out already. Texts under a telling name become
 * `[hidden]`, addresses lose their user and password.
 */
export function redactConfig(value: Json, key = ''): Json {
  if (typeof value === 'string') return SECRET_KEY.test(key) ? '[hidden]' : value.replace(URL_WITH_PASSWORD, '$1');
  if (Array.isArray(value)) return (value as readonly Json[]).map((item) => redactConfig(item, key));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, redactConfig(item, name)]));
}
