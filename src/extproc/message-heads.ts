import { HeaderList, type RequestHead, type ResponseHead } from '../core/http.ts';
import type { ProcessingRequest } from './codec/processing-request.ts';

/** The head of a request message. What is missing is empty: the flow has an answer for that. */
export function requestHead(message: ProcessingRequest): RequestHead {
  const headers = new HeaderList(message.headers);
  return { method: headers.get(':method') ?? '', path: headers.get(':path') ?? '', headers };
}

/** The head of a response message. A status that is none reads as 502. */
export function responseHead(message: ProcessingRequest): ResponseHead {
  const headers = new HeaderList(message.headers);
  const status = Number(headers.get(':status'));
  return { status: Number.isInteger(status) && status >= 100 && status <= 999 ? status : 502, headers };
}
