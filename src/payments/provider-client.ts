import { buildError, MercadoPagoConfig, Payment, PaymentMethod, PaymentRefund } from 'mercadopago'
import { Agent, buildConnector, type Dispatcher, fetch } from 'undici'
import { fromCents } from '#domain/money.ts'
import { isCpf, MASKED } from '#domain/person-values.ts'
import type { OutsideRequest } from '#ledger/write/idempotency.ts'
import { createKeyedSemaphore, type SemaphoreLimits } from '#lib/fair-sharing.ts'
import { passingInterimAnswers } from '#lib/outbound-connections.ts'
import {
  getProviderStatus,
  providerError,
  readCardOptions,
  readMade,
  readMethods,
  readPayment,
  readRefund,
  readSearch,
} from './provider-answer.ts'
import {
  type NewPayment,
  type NewRefund,
  type Payer,
  type PaymentProvider,
  type ProviderAccount,
  ProviderMisconfigured,
  ProviderRefused,
  ProviderUnavailable,
} from './provider-port.ts'

/** The SDK calls this address, whatever the settings say; the transport redirects it. */
export const PROVIDER_ORIGIN = 'https://api.mercadopago.com'

const request = (method: OutsideRequest['method'], path: string, body: object): OutsideRequest => ({
  method,
  url: `${PROVIDER_ORIGIN}/v1/payments${path}`,
  body,
})

/** What `createPayment` asks for, without the token of the card and the data of who pays. */
export function paymentRequest(payment: NewPayment): OutsideRequest {
  const { payer, ...body } = paymentBody(payment)
  const shown = { ...body, payer: masked(payer), ...('token' in body && { token: MASKED }) }
  return request('POST', '', shown)
}

export const refundRequest = ({ paymentId, amountCents }: Omit<NewRefund, 'refundId'>): OutsideRequest =>
  request('POST', `/${paymentId}/refunds`, { amount: asNumber(amountCents) })

export const cancellationRequest = (paymentId: string): OutsideRequest =>
  request('PUT', `/${paymentId}`, { status: 'cancelled' })

const masked = (fields: object): object =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, typeof value === 'object' ? masked(value) : MASKED]),
  )

/** A boleto requires both names; a single name is used twice. */
function namesOf(name: string) {
  const [first_name = '', ...rest] = name.split(/\s+/)
  return { first_name, last_name: rest.join(' ') || first_name }
}

/** Cents as the JSON number that the provider expects: the nearest double, which prints with at most two decimals. */
const asNumber = (cents: number): number => cents / 100

/**
 * Computed for each call: the time to pay of a repeated call would otherwise be shorter than the provider allows. The
 * provider requires a numeric offset.
 */
const minutesFromNow = (minutes: number): string =>
  new Date(Date.now() + minutes * 60_000).toISOString().replace('Z', '+00:00')

function paymentBody({ expiresInMinutes, ...payment }: NewPayment) {
  return {
    transaction_amount: asNumber(payment.amountCents),
    description: payment.description,
    payment_method_id: payment.paymentMethodId,
    ...(payment.token === undefined ? {} : { token: payment.token, installments: payment.installments ?? 1 }),
    ...(expiresInMinutes === undefined ? {} : { date_of_expiration: minutesFromNow(expiresInMinutes) }),
    payer: payerOf(payment.payer),
    external_reference: payment.orderReference,
    notification_url: payment.notificationUrl,
    ...(payment.applicationFeeCents > 0 ? { application_fee: asNumber(payment.applicationFeeCents) } : {}),
    metadata: { attempt_id: payment.attemptId },
  }
}

function payerOf({ email, name, document, address }: Payer) {
  return {
    email,
    ...(name === null ? {} : namesOf(name)),
    ...(document === null ? {} : { identification: { type: isCpf(document) ? 'CPF' : 'CNPJ', number: document } }),
    ...(address === null ? {} : { address: addressOf(address) }),
  }
}

const addressOf = ({ zip_code, street, number, neighborhood, city, state }: NonNullable<Payer['address']>) => ({
  zip_code,
  street_name: street,
  street_number: number,
  neighborhood,
  city,
  federal_unit: state,
})

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

/** From the call to the last byte of the response, including the wait for a slot. */
const TIMEOUT_MS = 4_000
/** One store gets at most half of the slots: the provider may be slow for it alone. */
const LIMITS: SemaphoreLimits = { running: 32, runningOfKey: 16, waiting: 512 }

/** Newest payments of an order that are read: an order has one or two, since each attempt is made by a person. */
const FOUND_PAYMENTS = 50

interface ProviderClientOptions {
  /** Base URL of the provider's API, without trailing slash. */
  readonly baseUrl: string
  readonly timeout_ms?: number
  readonly limits?: SemaphoreLimits
}

interface ProviderClient extends PaymentProvider {
  close(): Promise<void>
}

/** SDK call with all limits configured. */
type Call = (config: MercadoPagoConfig, dispatcher: Dispatcher) => Promise<unknown>

/**
 * Client of the payment provider, based on its SDK. Every call ends within the time-out, nothing is retried here, and
 * all failures become errors of the port.
 */
export function createProviderClient({
  baseUrl,
  timeout_ms = TIMEOUT_MS,
  limits = LIMITS,
}: ProviderClientOptions): ProviderClient {
  const transport = createProviderTransport(baseUrl)
  const turns = createKeyedSemaphore(limits)

  async function answerOf<T>(account: ProviderAccount, call: Call, read: (answer: unknown) => T): Promise<T> {
    const { accessToken } = account
    if (!accessToken) throw new ProviderMisconfigured('store has no access token; set one')
    const deadline = new AbortController()
    const timer = setTimeout(() => deadline.abort(new Error('provider call timed out')), timeout_ms)
    const started = performance.now()
    const release = await turns.acquire(accessToken, deadline.signal)
    try {
      if (!release) throw new ProviderUnavailable('too many calls are waiting for the provider')
      const dispatcher = transport.until(deadline.signal)
      const options = {
        timeout: Math.max(1, timeout_ms - (performance.now() - started)),
        maxRetries: 0,
        // The SDK passes unknown options to `fetch`.
        redirect: 'error',
        dispatcher,
        headers: headersFor(accessToken),
      }
      // One configuration per call: the SDK reuses the options of a call for later ones.
      return read(await call(new MercadoPagoConfig({ accessToken, options }), dispatcher))
    } finally {
      clearTimeout(timer)
      release?.()
    }
  }

  return {
    async createPayment(account, payment) {
      const requestOptions = { idempotencyKey: payment.attemptId }
      const secrets = secretsOf(account, payment)
      return answerOf(
        account,
        (config) => new Payment(config).create({ body: paymentBody(payment), requestOptions }),
        (answer) => readMade(answer, account, payment),
      ).catch((error: unknown) => {
        throw providerError(error, secrets)
      })
    },

    async getPayment(account, id) {
      const call: Call = (config) => new Payment(config).get({ id }).catch(nullIfUnknown)
      return answerOf(account, call, (answer) => (answer === null ? null : readPayment(answer, account))).catch(fail)
    },

    async createRefund(account, { refundId, paymentId, amountCents }) {
      const requestOptions = { idempotencyKey: refundId }
      const body = { amount: asNumber(amountCents) }
      const call: Call = (config) => new PaymentRefund(config).create({ payment_id: paymentId, body, requestOptions })
      return answerOf(account, call, readRefund).catch((error: unknown) => {
        throw providerError(error, [account.accessToken])
      })
    },

    async cancelPayment(account, id) {
      // Responds 400 if the payment is no longer pending; its current state then counts.
      const call: Call = (config) =>
        new Payment(config).cancel({ id }).catch((error: unknown) => {
          nullIfUnknown(error)
          return new Payment(config).get({ id })
        })
      return answerOf(account, call, (answer) => readPayment(answer, account)).catch(fail)
    },

    async findPayments(account, external_reference) {
      const options = { external_reference, sort: 'date_created', criteria: 'desc', limit: FOUND_PAYMENTS } as const
      const call: Call = (config) => new Payment(config).search({ options })
      return answerOf(account, call, (answer) => readSearch(answer, account, external_reference)).catch(fail)
    },

    async getPaymentMethods(account) {
      return answerOf(account, (config) => new PaymentMethod(config).get(), readMethods).catch(fail)
    },

    async getCardOptions(account, amountCents, bin) {
      const query = new URLSearchParams({ amount: fromCents(amountCents), bin })
      const call: Call = (_config, dispatcher) =>
        getJson(`/v1/payment_methods/installments?${query}`, account, dispatcher).catch(noneIfUnknown)
      return answerOf(account, call, readCardOptions).catch(fail)
    },

    close: () => transport.close(),
  }
}

const headersFor = (accessToken: string) => ({
  Authorization: `Bearer ${accessToken}`,
  'Accept-Encoding': 'identity',
  // Without it a refund in process is answered 400, and may still be made.
  'X-Render-In-Process-Refunds': 'true',
})

/** For endpoints without an SDK call; the dispatcher redirects it like the SDK's calls. */
async function getJson(path: string, { accessToken }: ProviderAccount, dispatcher: Dispatcher): Promise<unknown> {
  const headers = headersFor(accessToken)
  const response = await fetch(`${PROVIDER_ORIGIN}${path}`, { dispatcher, headers, redirect: 'error' })
  const body = await response.json().catch(() => ({}))
  if (!response.ok) throw buildError(response.status, body as Record<string, unknown>)
  return body
}

/** Secrets to remove from the provider's texts: credentials, card, and payer. */
function secretsOf({ accessToken }: ProviderAccount, { token, payer }: NewPayment): string[] {
  const { email, name, document, address } = payer
  const { first_name, last_name } = namesOf(name ?? '')
  const said = [accessToken, token, email, name, first_name, last_name, document, ...Object.values(address ?? {})]
  const written = [
    document && punctuated(document),
    address && `${address.zip_code.slice(0, 5)}-${address.zip_code.slice(5)}`,
  ]
  return [...said, ...written].filter((secret) => typeof secret === 'string' && secret !== '')
}

/** CPF or CNPJ with punctuation. */
const punctuated = (document: string): string =>
  isCpf(document)
    ? document.replace(/^(.{3})(.{3})(.{3})(.{2})$/, '$1.$2.$3-$4')
    : document.replace(/^(.{2})(.{3})(.{3})(.{4})(.{2})$/, '$1.$2.$3/$4-$5')

/** Only writes can be refused; a refused read counts as unavailable. */
function fail(error: unknown): never {
  const explained = providerError(error, [])
  if (explained instanceof ProviderRefused) throw new ProviderUnavailable('provider refused a read')
  throw explained
}

/** An invalid payment id gets 400. */
function nullIfUnknown(error: unknown): null {
  if ([400, 404].includes(getProviderStatus(error))) return null
  throw error
}

/** Same result as an empty list, which the provider returns too. */
function noneIfUnknown(error: unknown): [] {
  nullIfUnknown(error)
  return []
}
