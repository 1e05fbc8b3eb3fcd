import type { BodyMode, ProcessingRequest, ProtocolConfig } from './codec/processing-request.ts';
import { StreamFault } from './stream-fault.ts';

const REQUEST_MODES: readonly BodyMode[] = ['BUFFERED', 'FULL_DUPLEX_STREAMED'];

/** The modes of a stream of the HTTP filter chain. Throws `StreamFault` naming the setting that we do not serve. */
export function requestProtocol(first: ProcessingRequest): ProtocolConfig {
  const protocol = told(first);
  if (!REQUEST_MODES.includes(protocol.requestBody)) {
    throw unsupported('request_body_mode', protocol.requestBody, 'FULL_DUPLEX_STREAMED or BUFFERED');
  }
  if (protocol.responseBody !== 'FULL_DUPLEX_STREAMED') {
    throw unsupported('response_body_mode', protocol.responseBody, 'FULL_DUPLEX_STREAMED');
  }
  return protocol;
}

/**
 * The modes of a stream of the upstream filter chain. Bodies are only ever looked at before the head is answered, which
 * needs `send_body_without_waiting_for_header_response`; without it the first chunk would wait for the head's answer and
 * the answer for the first chunk.
 */
export function attemptProtocol(first: ProcessingRequest): ProtocolConfig {
  const protocol = told(first);
  if (protocol.requestBody !== 'NONE') throw unsupported('request_body_mode', protocol.requestBody, 'NONE');
  if (protocol.responseBody === 'NONE') return protocol;
  if (protocol.responseBody !== 'STREAMED') {
    throw unsupported('response_body_mode', protocol.responseBody, 'NONE or STREAMED');
  }
  if (!protocol.eagerBody) {
    throw unsupported('send_body_without_waiting_for_header_response', 'false', 'true with a response body');
  }
  return protocol;
}

function told(first: ProcessingRequest): ProtocolConfig {
  if (first.protocol === null) {
    throw new StreamFault('precondition', 'the first message has no protocol_config: this Envoy is too old');
  }
  return first.protocol;
}

function unsupported(setting: string, value: string, wanted: string): StreamFault {
  return new StreamFault('precondition', `processing mode ${setting} is ${value}, must be ${wanted}`);
}
