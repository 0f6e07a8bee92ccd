import { Agent, type Dispatcher } from 'undici'

/** Answers beyond this are no answers of the provider; a page of a hundred payments has half of it. */
const MAX_ANSWER_BYTES = 2 * 1024 * 1024

/** Connections to the provider: where they lead, and what is taken from them. */
export interface ProviderTransport {
  /** Carries one call, until `signal` ends it in whatever state it is. */
  until(signal: AbortSignal): Dispatcher
  close(): Promise<void>
}

/**
 * The SDK calls one fixed address through the global `fetch`, and stops its clock when the headers are there. A dispatcher
 * of our own sends its calls to `baseUrl` instead, and bounds the size of the answer and the time until its last byte.
 */
export function createTransport(baseUrl: string): ProviderTransport {
  const { origin, pathname } = new URL(baseUrl)
  const prefix = pathname.replace(/\/$/, '')
  const agent = new Agent({ maxResponseSize: MAX_ANSWER_BYTES })
  return {
    until: (signal) =>
      agent.compose(
        (dispatch) => (request, handler) =>
          dispatch({ ...request, origin, path: prefix + request.path }, bounded(handler, signal)),
      ),
    close: () => agent.destroy(),
  }
}

function bounded(handler: Dispatcher.DispatchHandler, signal: AbortSignal): Dispatcher.DispatchHandler {
  return {
    onRequestStart(controller, context) {
      if (signal.aborted) controller.abort(reasonOf(signal))
      signal.addEventListener('abort', () => controller.abort(reasonOf(signal)), { once: true })
      handler.onRequestStart?.(controller, context)
    },
    onRequestUpgrade: (...args) => handler.onRequestUpgrade?.(...args),
    onResponseStart(controller, status, headers, message) {
      // A few compressed kilobytes may be gigabytes; nobody was asked to compress.
      if (!['identity', undefined].includes(headers['content-encoding']?.toString()))
        return controller.abort(new Error('the answer is compressed'))
      handler.onResponseStart?.(controller, status, headers, message)
    },
    onResponseData: (...args) => handler.onResponseData?.(...args),
    onResponseEnd: (...args) => handler.onResponseEnd?.(...args),
    onResponseError: (...args) => handler.onResponseError?.(...args),
  }
}

const reasonOf = ({ reason }: AbortSignal): Error => (reason instanceof Error ? reason : new Error(String(reason)))
