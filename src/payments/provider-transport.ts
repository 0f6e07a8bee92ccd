import { Agent, buildConnector, type Dispatcher } from 'undici'
import { passingInterimAnswers } from '#lib/outbound-connections.ts'

/** The SDK calls this address, whatever the settings say; the transport redirects it. */
export const PROVIDER_ORIGIN = 'https://api.mercadopago.com'

/** Of a connection, which other calls may use; the deadline of a call is shorter. */
const CONNECT_TIMEOUT_MS = 10_000

/** Limit of a response; a page of a hundred payments takes half of it. */
const MAX_ANSWER_BYTES = 2 * 1024 * 1024

/** Connections to the provider, with target and limits. */
export interface ProviderTransport {
  /** Dispatcher for one call; aborting `signal` ends the call in any state. */
  until(signal: AbortSignal): Dispatcher
  close(): Promise<void>
}

/**
 * The SDK calls one fixed URL through the global `fetch`, and stops its time-out when the headers arrive. This
 * dispatcher redirects its calls to `baseUrl`, and bounds the size of the response and the time until its last byte.
 */
export function createProviderTransport(baseUrl: string): ProviderTransport {
  const { origin, pathname } = new URL(baseUrl)
  const prefix = pathname.replace(/\/$/, '')
  const connect = passingInterimAnswers(buildConnector({ timeout: CONNECT_TIMEOUT_MS }))
  const agent = new Agent({ maxResponseSize: MAX_ANSWER_BYTES, connect })
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
      // A few compressed kilobytes may expand to gigabytes, and compression was not requested.
      if (!['identity', undefined].includes(headers['content-encoding']?.toString()))
        return controller.abort(new Error('provider compressed its response'))
      handler.onResponseStart?.(controller, status, headers, message)
    },
    onResponseData: (...args) => handler.onResponseData?.(...args),
    onResponseEnd: (...args) => handler.onResponseEnd?.(...args),
    onResponseError: (...args) => handler.onResponseError?.(...args),
  }
}

const reasonOf = ({ reason }: AbortSignal): Error => (reason instanceof Error ? reason : new Error(String(reason)))
