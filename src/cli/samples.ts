import fs from 'node:fs';
import { isClassName } from '../lib/text-classes/model-file.ts';
import type { Sample } from '../lib/text-classes/train.ts';
import { UserError } from './user-error.ts';

/**
 * Samples of a JSON Lines file: `{"prompt": "…", "class": "code", "quality": {"model": 0.5}, "group": "…"}`, with `class`, `quality` or both.
 * Throws `UserError` with file and line.
 */
export function readSamples(file: string): readonly Sample[] {
  return readText(file)
    .split('\n')
    .flatMap((line, at) => (line.trim() === '' ? [] : [sampleOf(line, `${file}:${at + 1}`)]));
}

/** Text of a file. Throws `UserError`. */
export function readText(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UserError(
      `${file} ${code === 'ENOENT' ? 'does not exist' : `cannot be read (${code ?? String(error)})`}`,
    );
  }
}

function sampleOf(line: string, place: string): Sample {
  const value = parsed(line, place);
  const { prompt, class: given, quality = {}, group } = value;
  if (typeof prompt !== 'string' || prompt === '') throw new UserError(`${place}: "prompt" must be a text`);
  if (given !== undefined && given !== null && (typeof given !== 'string' || !isClassName(given)))
    throw new UserError(`${place}: "class" must be 1 to 64 visible characters`);
  if (typeof quality !== 'object' || quality === null || Array.isArray(quality))
    throw new UserError(`${place}: "quality" must be an object of models`);
  for (const [model, one] of Object.entries(quality as Record<string, unknown>))
    if (typeof one !== 'number' || !(one >= 0 && one <= 1))
      throw new UserError(`${place}: quality of "${model}" must be a number from 0 to 1`);
  if (group !== undefined && group !== null && typeof group !== 'string')
    throw new UserError(`${place}: "group" must be a text`);
  return {
    text: prompt,
    class: typeof given === 'string' ? given : null,
    quality: new Map(Object.entries(quality as Record<string, number>)),
    group: typeof group === 'string' ? group : null,
  };
}

function parsed(line: string, place: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new UserError(`${place}: is no JSON`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new UserError(`${place}: must be an object with "prompt"`);
  return value as Readonly<Record<string, unknown>>;
}
