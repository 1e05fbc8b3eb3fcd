import { readSeries } from '../../lib/prometheus/read-series.ts';

const LORA = 'vllm:lora_requests_info';

/** Names in a list of models, as OpenAI's API and Ollama give them; null where the text is no such list. */
export function readModels(text: string): ReadonlySet<string> | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  const { data, models } = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
  const list = Array.isArray(data) ? data : models;
  if (!Array.isArray(list)) return null;
  return new Set(list.flatMap(namesOf));
}

function namesOf(entry: unknown): readonly string[] {
  if (typeof entry !== 'object' || entry === null) return [];
  const { id, name, model } = entry as Record<string, unknown>;
  return [id, name, model].filter((each) => typeof each === 'string');
}

/** Ollama adds a tag to names that have none. */
export function holdsModel(names: ReadonlySet<string>, model: string): boolean {
  return names.has(model) || names.has(`${model}:latest`);
}

/**
 * Adapters that vLLM runs requests of now, or loads for requests that wait; null where it says nothing of adapters. One that
 * is not named may be loaded all the same. Each line is a state of its time, and its value is that time: the newest counts.
 */
export function readAdapters(text: string): ReadonlySet<string> | null {
  const series = readSeries(text, new Set([LORA])).get(LORA);
  if (series === undefined) return null;
  const newest = series.reduce((best, one) => (one.value > best.value ? one : best));
  const names = ['running_lora_adapters', 'waiting_lora_adapters'].flatMap((label) =>
    (newest.labels.get(label) ?? '').split(','),
  );
  return new Set(names.map((each) => each.trim()).filter((each) => each !== ''));
}
