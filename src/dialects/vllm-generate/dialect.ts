import type { ChatRequest } from '../../core/chat-request.ts';
import type { BackendDialect } from '../../core/dialect.ts';
import { GatewayError } from '../../core/error.ts';
import type { Deployment } from '../../core/snapshot.ts';
import { estimateTokens as estimate } from '../../lib/token-estimate/estimate-tokens.ts';
import { createAnswerDecoder, createCodedDecoder, createErrorDecoder } from './answer-decoder.ts';
import { type ChatTemplate, loadChatTemplates } from './chat-templates.ts';
import { templateMessages } from './messages.ts';
import { type GenerateOptions, readGenerateOptions } from './options.ts';
import { completionPrompt, generateBody, maxTokensOf } from './request.ts';
import { type GenerateDecoderInput, StreamDecoder } from './stream-decoder.ts';

export interface VllmGenerateOptions {
  /** Tokens of a text, about: for answers whose server tells no usage. */
  readonly estimateTokens?: (text: string) => number;
  /** Folder with the operator's own `NAME.jinja`, before ours of the same name; null = ours only. */
  readonly templates?: string | null;
}

/** This dialect also says which chat templates it has, so that a configuration can be checked before it runs. */
export interface VllmGenerateDialect extends BackendDialect {
  readonly templateNames: readonly string[];
}

/**
 * `POST /generate` of vLLM's plain API server and its kind: renders chats with a chat template, sends the prompt with
 * sampling parameters, and makes OpenAI answers of what comes back. Throws `Error` when a template does not compile.
 */
export function createVllmGenerate({
  estimateTokens = estimate,
  templates = null,
}: VllmGenerateOptions = {}): VllmGenerateDialect {
  const loaded = loadChatTemplates(templates);
  // The decoder needs the prompt again to strip it; the encoder, most often of the same process, has just made it.
  const prompts = new WeakMap<ChatRequest, Map<string, string>>();

  const promptOf = (request: ChatRequest, deployment: Deployment): string => {
    const made = prompts.get(request) ?? new Map<string, string>();
    prompts.set(request, made);
    const prompt = made.get(deployment.id) ?? render(request, deployment, loaded);
    made.set(deployment.id, prompt);
    return prompt;
  };

  return {
    name: 'vllm-generate',
    templateNames: [...loaded.keys()],
    encode: (request, deployment) => {
      const options = readGenerateOptions(deployment.backend.options);
      const prompt = promptOf(request, deployment);
      const body = generateBody({ request, deployment, options, prompt });
      return {
        path: options.path,
        headers: [
          ['content-type', 'application/json'],
          ['accept', request.stream ? 'text/event-stream, application/json' : 'application/json'],
        ],
        body,
      };
    },
    decoder: (head, context) => {
      const coding = head.headers.get('content-encoding')?.trim().toLowerCase() ?? '';
      if (coding !== '' && coding !== 'identity') return createCodedDecoder(head);
      if (head.status < 200 || head.status > 299) return createErrorDecoder(head);
      const { request, deployment } = context;
      const input: GenerateDecoderInput = {
        context,
        prompt: promptOf(request, deployment),
        streamText: readGenerateOptions(deployment.backend.options).streamText,
        maxTokens: maxTokensOf(request, deployment),
        estimateTokens,
      };
      if (!request.stream) return createAnswerDecoder(input);
      const type = head.headers.get('content-type')?.toLowerCase() ?? '';
      return new StreamDecoder(input, type.startsWith('text/event-stream'));
    },
  };
}

function render(request: ChatRequest, deployment: Deployment, templates: ReadonlyMap<string, ChatTemplate>): string {
  if (request.endpoint === 'embeddings') {
    throw new GatewayError('unsupported_parameter', 'This model gives no embeddings.', { param: 'model' });
  }
  if (request.endpoint === 'completions') return completionPrompt(request.json['prompt']);
  const options: GenerateOptions = readGenerateOptions(deployment.backend.options);
  const template = templates.get(deployment.chatTemplate ?? '');
  if (template === undefined) {
    throw new GatewayError('internal_error', 'This model is not set up correctly.', {
      cause: new Error(`deployment ${deployment.id}: no chat template named ${deployment.chatTemplate ?? '(none)'}`),
    });
  }
  const tokens = { bos: options.bosToken, eos: options.eosToken };
  const rules = {
    knowsTools: template.knowsTools,
    special: template.special(tokens),
    specialTokens: options.specialTokens,
  };
  return template.render(templateMessages(request.json['messages'], rules), tokens);
}
