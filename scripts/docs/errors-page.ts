import { type ErrorCode, ERRORS } from '../../src/core/error.ts';
import { ERROR_MEANINGS } from './error-meanings.ts';
import { code, GENERATED, table } from './markdown.ts';

const INTRODUCTION = `# Errors

Every error has the body of OpenAI's API, from us and from Envoy alike (\`local_reply_config\`):

\`\`\`json
{"error": {"message": "…", "type": "rate_limit_error", "param": null, "code": "rate_limit_exceeded"}}
\`\`\`

Programs should look at \`code\`. With it come \`x-error-source\` (\`gateway\`: we or your request; \`model_service\`: the backend),
\`x-request-id\`, \`retry-after\` in whole seconds where a moment is known, and \`x-original-error\`: what the backend said, redacted,
at most 256 characters. An error object that a backend gave in OpenAI's own shape is passed on
unchanged; where it lacks \`type\`, \`param\` or \`code\` those are filled in, from the table below.

**A stream that has begun** keeps its status 200. It ends with one \`data:\` event that holds the error object, then
\`data: [DONE]\`. Where the connection of the backend is reset in the middle, Envoy resets the client's as well: the client sees
a broken transfer, and no \`[DONE]\`.

"Retry" says whether the same request, unchanged, may succeed later. What the gateway retries by itself: [routing](routing.md).
`;

/** `docs/errors.md`: the table of `src/core/error.ts`. */
export function errorsPage(): string {
  const codes = Object.keys(ERRORS) as ErrorCode[];
  const rows = codes.map((name) => {
    const { status, type, retryable, source } = ERRORS[name];
    return [code(name), String(status), code(type), retryable ? 'yes' : 'no', source, ERROR_MEANINGS[name]];
  });
  return [GENERATED, '', INTRODUCTION, table(['code', 'status', 'type', 'retry', 'source', 'meaning'], rows), ''].join(
    '\n',
  );
}
