import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Template } from '@huggingface/jinja';
import { GatewayError } from '../../core/error.ts';
import { type SpecialTokens, specialTokensOf } from './special-tokens.ts';

/** A message as a template reads it. What is not text (tool calls) is only there where the template knows of it. */
export interface TemplateMessage {
  readonly role: string;
  readonly content: string;
  readonly [key: string]: unknown;
}

/** A compiled chat template. */
export interface ChatTemplate {
  /** Does it know messages of the role `tool`, and calls in an assistant's message? */
  readonly knowsTools: boolean;
  readonly special: (tokens: { bos: string; eos: string }) => SpecialTokens;
  /** Throws `GatewayError`: `invalid_value` with `param` `messages` when the template itself refuses. */
  readonly render: (messages: readonly TemplateMessage[], tokens: { bos: string; eos: string }) => string;
}

const BUILT_IN = fileURLToPath(new URL('templates/', import.meta.url));
const SUFFIX = '.jinja';
/**
 * The library's own `raise_exception` throws a plain `Error`, as its bugs do, and a global cannot be passed twice. The line
 * takes its place; `trim_blocks` swallows the newline, so that the template begins where it would.
 */
const PRELUDE = '{% set raise_exception = refuse_messages %}\n';

/** What a template says with `raise_exception`. */
class Refusal extends Error {}

/**
 * Reads and compiles every `*.jinja`: ours, then those in `folder`, which take the place of ours of the same name.
 * Throws `Error` with the file's path when one cannot be read or compiled. Templates are the operator's code.
 */
export function loadChatTemplates(folder: string | null): ReadonlyMap<string, ChatTemplate> {
  const templates = new Map<string, ChatTemplate>();
  for (const place of folder === null ? [BUILT_IN] : [BUILT_IN, folder]) {
    for (const file of readdirSync(place).toSorted()) {
      if (!file.endsWith(SUFFIX)) continue;
      const full = path.join(place, file);
      templates.set(file.slice(0, -SUFFIX.length), compile(readFileSync(full, 'utf8'), full));
    }
  }
  return templates;
}

function compile(source: string, file: string): ChatTemplate {
  let template: Template;
  try {
    template = new Template(PRELUDE + source);
  } catch (error) {
    throw new Error(`chat template ${file} does not compile`, { cause: error });
  }
  const special = new Map<string, SpecialTokens>();
  return {
    knowsTools: /['"]tool['"]/.test(source),
    special: ({ bos, eos }) => {
      const key = JSON.stringify([bos, eos]);
      const found = special.get(key) ?? specialTokensOf({ source, more: [bos, eos] });
      special.set(key, found);
      return found;
    },
    render: (messages, { bos, eos }) => {
      try {
        return template.render({
          messages,
          add_generation_prompt: true,
          bos_token: bos,
          eos_token: eos,
          refuse_messages: (reason: unknown) => {
            throw new Refusal(typeof reason === 'string' ? reason : 'these messages do not fit');
          },
        });
      } catch (error) {
        throw refused(error, file);
      }
    },
  };
}

function refused(error: unknown, file: string): GatewayError {
  if (error instanceof Refusal) {
    return new GatewayError('invalid_value', `The model's chat format refuses these messages: ${error.message}.`, {
      param: 'messages',
    });
  }
  return new GatewayError('internal_error', 'This model is not set up correctly.', {
    cause: new Error(`chat template ${file} failed`, { cause: error }),
  });
}
