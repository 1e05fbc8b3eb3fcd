type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/** OpenAI's word for Anthropic's `stop_reason`, empty where none was told. Words not known yet count as a natural end. */
export function finishReason(stopReason: string, hasCalls: boolean): FinishReason {
  switch (stopReason) {
    case 'max_tokens':
    case 'model_context_window_exceeded':
    // The model has more to say in a turn of its own: not complete.
    case 'pause_turn':
      return 'length';
    case 'refusal':
      return 'content_filter';
    case 'tool_use':
    case '':
      return hasCalls ? 'tool_calls' : 'stop';
    default:
      return 'stop';
  }
}

/** Did the answer stop before the model was done with it? Then what is half written stays so. */
export function isCutShort(stopReason: string): boolean {
  const reason = finishReason(stopReason, true);
  return reason === 'length' || reason === 'content_filter';
}
