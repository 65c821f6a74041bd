import { bytesListener } from '../upstream-bytes.ts';
import type { Dispatcher } from 'undici';

/** The dispatcher as it is, but each piece of the response's body is told to whoever listens under the request's signal. */
export function hearBytes(dispatcher: Dispatcher, signal: AbortSignal | null): Dispatcher {
  const heard = bytesListener(signal);
  if (heard === undefined) return dispatcher;
  return dispatcher.compose((dispatch) => (options, handler) => dispatch(options, hearing(handler, heard)));
}

function hearing(handler: Dispatcher.DispatchHandler, heard: () => void): Dispatcher.DispatchHandler {
  return {
    onRequestStart: (controller, context) => handler.onRequestStart?.(controller, context),
    onResponseStarted: () => handler.onResponseStarted?.(),
    onResponseStart: (...start) => handler.onResponseStart?.(...start),
    onResponseData(controller, chunk) {
      heard();
      handler.onResponseData?.(controller, chunk);
    },
    onResponseEnd: (controller, trailers) => handler.onResponseEnd?.(controller, trailers),
    onResponseError: (controller, error) => handler.onResponseError?.(controller, error),
  };
}
