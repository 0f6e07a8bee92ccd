import { buildError, MercadoPagoConfig, Payment, PaymentMethod, PaymentRefund } from 'mercadopago'
import { Agent, type Dispatcher, fetch } from 'undici'
import { fromCents } from '#domain/money.ts'
import { isCpf } from '#domain/tax-number.ts'
import { createTurns, type TurnLimits } from '#lib/turns.ts'
import {
  providerError,
  readCardOptions,
  readMade,
  readMethods,
  readPayment,
  readRefund,
  readSearch,
  statusOf,
} from './provider-answer.ts'
import {
  type NewPayment,
  type Payer,
  type PaymentProvider,
  type ProviderAccount,
  ProviderMisconfigured,
  ProviderRefused,
  ProviderUnavailable,
} from './provider-port.ts'

/** From the call to the last byte of the answer, waiting for a free place included (PAY-7). */
const TIMEOUT_MS = 4_000
/** Half of them for one store at most: the provider may be slow with it alone. */
const LIMITS: TurnLimits = { running: 32, runningOfKey: 16, waiting: 512 }

/** The newest payments of one order that are looked at: an order has one or two, and each new attempt is a person's doing. */
const FOUND_PAYMENTS = 50

interface ProviderClientOptions {
  /** Of the provider's API, without a slash at the end. */
  readonly baseUrl: string
  readonly timeout_ms?: number
  readonly limits?: TurnLimits
}

interface ProviderClient extends PaymentProvider {
  close(): Promise<void>
}

/** One call of the SDK, with everything that bounds it already set. */
type Call = (config: MercadoPagoConfig, dispatcher: Dispatcher) => Promise<unknown>

/**
 * The payment provider through its official SDK. Every call ends within the time-out, nothing is repeated here, and what
 * goes wrong becomes one of the errors of the port.
 */
export function createProviderClient({
  baseUrl,
  timeout_ms = TIMEOUT_MS,
  limits = LIMITS,
}: ProviderClientOptions): ProviderClient {
  const transport = createTransport(baseUrl)
  const turns = createTurns(limits)

  async function answerOf<T>(account: ProviderAccount, call: Call, read: (answer: unknown) => T): Promise<T> {
    const { accessToken } = account
    if (!accessToken) throw new ProviderMisconfigured('the store has no access token')
    const deadline = new AbortController()
    const timer = setTimeout(() => deadline.abort(new Error('time is up')), timeout_ms)
    const started = performance.now()
    const release = await turns.enter(accessToken, deadline.signal)
    try {
      if (!release) throw new ProviderUnavailable('too many calls wait for the provider')
      const dispatcher = transport.until(deadline.signal)
      const options = {
        timeout: Math.max(1, timeout_ms - (performance.now() - started)),
        maxRetries: 0,
        // The SDK hands what it does not know over to `fetch`.
        redirect: 'error',
        dispatcher,
        headers: { Authorization: `Bearer ${accessToken}`, 'Accept-Encoding': 'identity' },
      }
      // One configuration per call: the SDK keeps the options of a call for all that follow.
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
        (config) => new Payment(config).create({ body: bodyOf(payment), requestOptions }),
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
      // Answered 400 for what no longer waits: then it counts as what it has become.
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

/** What the SDK has no call for, at the address that the dispatcher leads away from as it does the SDK's. */
async function getJson(path: string, { accessToken }: ProviderAccount, dispatcher: Dispatcher): Promise<unknown> {
  const headers = { Authorization: `Bearer ${accessToken}`, 'Accept-Encoding': 'identity' }
  const response = await fetch(`https://api.mercadopago.com${path}`, { dispatcher, headers, redirect: 'error' })
  const body = await response.json().catch(() => ({}))
  if (!response.ok) throw buildError(response.status, body as Record<string, unknown>)
  return body
}

/** What no text of the provider's may repeat: credentials, the card, and who pays. */
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

/** A CPF or CNPJ as people write it. */
const punctuated = (document: string): string =>
  isCpf(document)
    ? document.replace(/^(.{3})(.{3})(.{3})(.{2})$/, '$1.$2.$3-$4')
    : document.replace(/^(.{2})(.{3})(.{3})(.{4})(.{2})$/, '$1.$2.$3/$4-$5')

/** A boleto demands both; who has one name only is called by it twice. */
function namesOf(name: string) {
  const [first_name = '', ...rest] = name.split(/\s+/)
  return { first_name, last_name: rest.join(' ') || first_name }
}

/** A refusal is an answer to what was sent; a question cannot be refused. */
function fail(error: unknown): never {
  const explained = providerError(error, [])
  if (explained instanceof ProviderRefused) throw new ProviderUnavailable('the provider refused to answer')
  throw explained
}

/** Something that is no id of a payment at all is answered 400. */
function nullIfUnknown(error: unknown): null {
  if ([400, 404].includes(statusOf(error))) return null
  throw error
}

/** As an empty list, which the provider answers too. */
function noneIfUnknown(error: unknown): [] {
  nullIfUnknown(error)
  return []
}

/** Cents as the JSON number that the provider wants: the double nearest to it, which is printed with two decimals at most. */
const asNumber = (cents: number): number => cents / 100

function bodyOf(payment: NewPayment) {
  return {
    transaction_amount: asNumber(payment.amountCents),
    description: payment.description,
    payment_method_id: payment.paymentMethodId,
    ...(payment.token === undefined ? {} : { token: payment.token, installments: payment.installments ?? 1 }),
    // The provider wants an offset in digits.
    ...(payment.expiresAt === undefined ? {} : { date_of_expiration: payment.expiresAt.replace('Z', '+00:00') }),
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

/** Answers beyond this are no answers of the provider; a page of a hundred payments has half of it. */
const MAX_ANSWER_BYTES = 2 * 1024 * 1024

/** Connections to the provider: where they lead, and what is taken from them. */
interface ProviderTransport {
  /** Carries one call, until `signal` ends it in whatever state it is. */
  until(signal: AbortSignal): Dispatcher
  close(): Promise<void>
}

/**
 * The SDK calls one fixed address through the global `fetch`, and stops its clock when the headers are there. A dispatcher
 * of our own sends its calls to `baseUrl` instead, and bounds the size of the answer and the time until its last byte.
 */
function createTransport(baseUrl: string): ProviderTransport {
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
