import path from 'node:path';
import { parsePromptKey } from '../prompt-key.ts';
import type { CheckContext } from './finding.ts';

/** Rules about the audit log: checkpoints lie apart from it, and what is kept of prompts has a key. */
export function checkAudit({ document, files, problem, warn }: CheckContext): void {
  const { audit, redis } = document;
  if (audit === undefined) return;
  const inside = (file: string): boolean => {
    const way = path.relative(files.resolve(audit.dir), files.resolve(file));
    return way === '' || (!way.startsWith('..') && !path.isAbsolute(way));
  };
  const { checkpoint } = audit;
  if (checkpoint.dir === undefined && !(checkpoint.redis ?? redis !== undefined))
    problem(
      ['audit', 'checkpoint', 'dir'],
      'is needed, or audit.checkpoint.redis: true: a log that vouches for itself proves nothing',
    );
  if (checkpoint.dir !== undefined && inside(checkpoint.dir))
    problem(
      ['audit', 'checkpoint', 'dir'],
      'lies in audit.dir: whoever changes the log would change its checkpoints too',
    );
  if (inside(audit.key_file))
    warn(['audit', 'key_file'], 'lies in audit.dir: whoever may write there could read the key as well');
  if (audit.prompts === 'none') return;
  if (audit.prompt_key === undefined) problem(['audit', 'prompts'], `"${audit.prompts}" needs audit.prompt_key`);
  else if (parsePromptKey(audit.prompt_key) === null)
    problem(['audit', 'prompt_key'], 'must be 32 bytes, as 64 hex digits or in base64: openssl rand -hex 32 makes one');
}
