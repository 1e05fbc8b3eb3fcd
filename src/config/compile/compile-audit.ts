import type { Audit } from '../../core/audit-settings.ts';
import { parsePromptKey } from '../prompt-key.ts';
import type { FileReader } from '../references.ts';
import type { ConfigDocument } from '../schema/document.ts';

/** Null where there is no such section. */
export function compileAudit({ audit, redis }: ConfigDocument, files: FileReader): Audit | null {
  if (audit === undefined) return null;
  const { checkpoint } = audit;
  return {
    dir: files.resolve(audit.dir),
    onError: audit.on_error,
    segmentBytes: audit.segment,
    rotateMs: audit.rotate,
    keepMs: audit.keep,
    checkpoint: {
      everyMs: checkpoint.every,
      records: checkpoint.records,
      dir: checkpoint.dir === undefined ? null : files.resolve(checkpoint.dir),
      redis: checkpoint.redis ?? redis !== undefined,
    },
    keyFile: files.resolve(audit.key_file),
    prompts: audit.prompts,
    promptKey: audit.prompt_key === undefined ? null : parsePromptKey(audit.prompt_key),
  };
}
