import { v5 as uuidv5 } from 'uuid'
import * as z from 'zod'
import { refusePayment, startPayment } from '#commands/order-attempts.ts'
import { type RecordPaymentInput, recordPayment } from '#commands/order-payment-command.ts'
import type { Vault } from '#crypto/vault.ts'
import { fromCents, toCents } from '#domain/money.ts'
import { splitCommission } from '#domain/order-states.ts'
import {
  BOLETO,
  EXPIRY_MINUTES,
  LONGEST_EXPIRY_MINUTES,
  ONLINE_METHODS,
  type OnlineMethod,
  PIX,
  SHORTEST_BOLETO_MINUTES,
  SHORTEST_EXPIRY_MINUTES,
  toOnlineMethod,
} from '#domain/payment-rules.ts'
import { type Refusal, refuse } from '#domain/refusals.ts'
import { boundedText, Email, nameText, orNone } from '#domain/text.ts'
import { isRefusal } from '#ledger/command.ts'
import { type Answer, type Idempotency, lookUpReplay } from '#ledger/write/idempotency.ts'
import { type Actor, runCommand } from '#ledger/write/run.ts'
import type { Writer } from '#ledger/write/writer.ts'
import type { Database, Queryable } from '#postgres/database.ts'
import type { PaymentObject } from '#projections/order-payments.ts'
import type { OrderObject } from '#projections/orders.ts'
import type { PersonFields } from '#projections/people.ts'
import { findStore, type StoreAccess } from '#queries/company-queries.ts'
import { findPayableOrder } from '#queries/order-queries.ts'
import { fullReader } from '#queries/reader.ts'
import { AddressInput, Document } from '#records/persons.ts'
import { cancelLatePayments, endOtherMode, isOfOtherMode, OTHER_MODE, toPaymentRecord } from './notifications.ts'
import { paymentRequest } from './provider-client.ts'
import {
  type CardOptions,
  type NewPayment,
  type Payer,
  type PayerAddress,
  type PaymentProvider,
  type ProviderAccount,
  type ProviderCause,
  ProviderConflict,
  ProviderMisconfigured,
  type ProviderPayment,
  ProviderRefused,
  ProviderUnavailable,
  StoreNotConnected,
} from './provider-port.ts'
import { accountAt } from './store-connections.ts'

const { zip: Zip, state: State } = AddressInput.shape

const PayerInput = z
  .strictObject({
    name: nameText(120).nullish(),
    document: orNone(Document),
    email: orNone(Email),
    address: z
      .strictObject({
        zip_code: Zip,
        street: boundedText(120).nullish(),
        number: boundedText(20).nullish(),
        neighborhood: boundedText(80).nullish(),
        city: boundedText(80).nullish(),
        state: State,
      })
      .meta({ id: 'PayerAddressInput' })
      .nullish(),
  })
  .meta({ id: 'PayerInput' })
type PayerInput = z.infer<typeof PayerInput>

const BRAND = 'deve ser a bandeira do cartão no nome do provedor, como "visa"'
const MAX_INSTALLMENTS = 99

/** Body of POST /orders/{id}/payments. The provider's own form creates the token of a card. */
export const PayInput = z
  .strictObject({
    method: z.enum(ONLINE_METHODS),
    token: boundedText(200).nullish(),
    brand: boundedText(60)
      .refine((value) => /^[a-z][a-z0-9_]*$/.test(value) && toOnlineMethod(value) === 'card', BRAND)
      .nullish(),
    installments: z.int().min(1).max(MAX_INSTALLMENTS).nullish(),
    payer: PayerInput.nullish(),
    expires_in_minutes: z.int().min(SHORTEST_EXPIRY_MINUTES).max(LONGEST_EXPIRY_MINUTES).nullish(),
  })
  .superRefine((input, context) => {
    const isCard = input.method === 'card'
    const add = (field: string, message: string) => context.addIssue({ code: 'custom', path: [field], message })
    for (const field of ['token', 'brand'] as const)
      if (isCard && !input[field]) add(field, 'preencha este campo para pagar com cartão')
    for (const field of ['token', 'brand', 'installments'] as const)
      if (!isCard && input[field]) add(field, 'só é aceito com cartão')
    if (isCard && input.expires_in_minutes) add('expires_in_minutes', 'não é aceito com cartão')
    if (input.method === 'boleto' && input.expires_in_minutes && input.expires_in_minutes < SHORTEST_BOLETO_MINUTES)
      add('expires_in_minutes', `deve ser no mínimo ${SHORTEST_BOLETO_MINUTES} com boleto`)
  })
export type PayInput = z.infer<typeof PayInput>

/** The provider's name of the payment method. */
const paymentMethodIdOf = ({ method, brand }: PayInput): string =>
  method === 'card' ? (brand as string) : method === 'pix' ? PIX : BOLETO

const expiryOf = ({ method, expires_in_minutes }: PayInput): number | null =>
  expires_in_minutes ?? EXPIRY_MINUTES[method]

const ADDRESS_PARTS = ['zip_code', 'street', 'number', 'neighborhood', 'city', 'state'] as const

/**
 * Payer: fields of the input, completed from the order's buyer and the customer's address. Refused, naming the missing
 * fields, if the provider requires more: an e-mail always, all fields for a boleto.
 */
export function toPayer(
  { method, payer }: Pick<PayInput, 'method' | 'payer'>,
  { customer }: Pick<OrderObject, 'customer'>,
  known: PersonFields['address'],
): Payer | Refusal {
  const name = payer?.name ?? customer.name
  const document = payer?.document ?? customer.document
  const email = payer?.email ?? customer.email
  const address = addressOf(payer?.address, known)
  const lacking = lackingOf(method, { email, document }, address)
  if (email === null || lacking.length > 0) {
    const message = 'preencha este campo: o meio de pagamento o exige e o cliente do pedido não o tem'
    return refuse('validation_failed', {
      fields: Object.fromEntries(lacking.map((part) => [`payer.${part}`, [message]])),
      unknown_fields: [],
    })
  }
  return { name, document, email, address: isWhole(address) ? address : null }
}

type PartialAddress = { readonly [P in keyof PayerAddress]: string | null }

/** Addresses are not mixed: an input with a ZIP code replaces the customer's whole address. */
function addressOf(said: PayerInput['address'], known: PersonFields['address']): PartialAddress {
  const own = said?.zip_code ? null : known
  return {
    zip_code: said?.zip_code ?? own?.zip ?? null,
    street: said?.street ?? own?.street ?? null,
    number: said?.number ?? own?.number ?? null,
    neighborhood: said?.neighborhood ?? own?.district ?? null,
    city: said?.city ?? own?.city ?? null,
    state: said?.state ?? own?.state ?? null,
  }
}

const isWhole = (address: PartialAddress): address is PayerAddress =>
  ADDRESS_PARTS.every((part) => address[part] !== null)

function lackingOf(
  method: OnlineMethod,
  { email, document }: { email: string | null; document: string | null },
  address: PartialAddress,
): string[] {
  const always = email === null ? ['email'] : []
  if (method !== 'boleto') return always
  const parts = ADDRESS_PARTS.filter((part) => address[part] === null)
  return [...always, ...(document === null ? ['document'] : []), ...parts.map((part) => `address.${part}`)]
}

/** Dependencies of order payments. */
export interface Payments {
  readonly pool: Database
  readonly vault: Vault
  readonly writer: Writer
  readonly provider: PaymentProvider
  /** Public base URL for the provider, without trailing slash. */
  readonly publicUrl: string
}

interface Paying {
  readonly idempotency: Idempotency
  readonly acting: Actor
  readonly orderId: number
  readonly payment: PayInput
  /** Refuses to start while another attempt may still be paid. */
  readonly onlyIfNoneWaits?: boolean
}

/** Payment that an attempt is to make. */
type Attempt = PaymentObject & { readonly attempt_id: string; readonly payment_method_id: string }

/** Namespace of attempt ids; an arbitrary constant. */
const ATTEMPTS = '9d7a1c9e-5f0a-4a51-8f0e-6c1c2b7d4e10'

/**
 * Pays an order: records the attempt, calls the provider under the attempt's id, records the response. No database
 * resource is held meanwhile. Equal keys and requests give the same attempt, so that crashes and concurrent calls
 * charge once. Only the final response is stored under the key.
 * @throws ProviderUnavailable if it is unknown whether the payment was made: retrying with the same key is safe
 * @throws ProviderMisconfigured if the store's credentials are missing, wrong, or of the other mode
 */
export async function payOrder(payments: Payments, paying: Paying): Promise<Answer | Refusal> {
  const { pool, writer } = payments
  const { idempotency, orderId } = paying
  const { guard, ...acting } = paying.acting
  const replay = await lookUpReplay(pool, { ...acting, idempotency })
  if (replay) return replay
  const payable = await findPayableOrder(fullReader(pool, acting.companyId), orderId)
  if (payable === null) return refuse('not_found')
  const payer = toPayer(paying.payment, payable.order, payable.address)
  if (isRefusal(payer)) return payer
  const attemptId = attemptOf(paying, payable.order.provider_reference)
  const start = {
    id: orderId,
    attempt_id: attemptId,
    idempotency_key: idempotency.key,
    caller: acting.actor,
    payment_method_id: paymentMethodIdOf(paying.payment),
    installments: paying.payment.installments ?? null,
    expires_in_minutes: expiryOf(paying.payment),
    ...(paying.onlyIfNoneWaits && { only_if_none_waits: true }),
  }
  const started = await runCommand(writer, { ...acting, guard }, startPayment, start)
  if (isRefusal(started)) return started
  const isFirst = started.outcome !== 'unchanged'
  const order = started.record as OrderObject
  const found = order.payments.find((payment) => payment.attempt_id === attemptId)
  if (!found) throw new Error(`pay order: attempt ${attemptId} is missing after its start`)
  const attempt: Attempt = { ...found, attempt_id: attemptId, payment_method_id: start.payment_method_id }
  if (started.dryRun) {
    const { store, wanted } = await prepare(payments, paying, order, attempt, payer)
    toProviderAccount(store)
    const requests = recordKnown(order.id, attempt) ? [] : [paymentRequest(wanted)]
    return { ...started, outcome: 'created', dryRun: { ...started.dryRun, requests } }
  }
  // From here on the caller's guard does not apply: what the provider did is always recorded.
  const made =
    recordKnown(order.id, attempt) ?? (await ask(payments, { ...paying, acting, isFirst }, order, attempt, payer))
  if (isRefusal(made)) return made
  // The response to the request, which created the payment.
  const answer = await runCommand(writer, acting, recordPayment, made, { outcome: 'created', idempotency })
  if (!isRefusal(answer)) await cancelLatePayments(payments, acting, answer.record as OrderObject)
  return answer
}

/** Attempt id, derived from caller, key and request: the same on every process and retry. */
const attemptOf = ({ idempotency: { requestHash, key }, acting: { actor } }: Paying, reference: string): string =>
  uuidv5(`${reference}\n${requestHash}\n${actor}\n${key}`, ATTEMPTS)

/** Recorded payment of an attempt; null if the provider must be called. */
function recordKnown(orderId: number, payment: Attempt): RecordPaymentInput | null {
  const { attempt_id, provider_payment_id, provider_status, provider_status_detail, live_mode } = payment
  if (provider_payment_id === null || provider_status === null || live_mode === null) return null
  return {
    id: orderId,
    attempt_id,
    provider_payment_id,
    provider_status,
    status_detail: provider_status_detail,
    live_mode,
  }
}

/** Pending call to the provider. */
interface Asking extends Paying {
  /** Whether this is the attempt's first call. Then wrong credentials mean that no payment was made. */
  readonly isFirst: boolean
}

/**
 * Creates the attempt's payment at the provider. If it certainly failed, the attempt is refused and the key is free
 * again.
 */
async function ask(
  payments: Payments,
  paying: Asking,
  order: OrderObject,
  attempt: Attempt,
  payer: Payer,
): Promise<RecordPaymentInput | Refusal> {
  const { attempt_id } = attempt
  const giveUp = (reason: string) =>
    runCommand(payments.writer, paying.acting, refusePayment, { id: order.id, attempt_id, reason })
  const { store, wanted } = await prepare(payments, paying, order, attempt, payer)
  let made: ProviderPayment
  try {
    made = await createOrFind(payments.provider, toProviderAccount(store), wanted)
  } catch (error) {
    if (error instanceof ProviderMisconfigured && paying.isFirst) await giveUp(formatMisconfiguration(error))
    if (!(error instanceof ProviderRefused)) throw error
    await giveUp(formatProviderReason(error))
    return refuse('payment_refused', { causes: [...error.causes] })
  }
  if (made.amountCents !== wanted.amountCents || made.externalReference !== wanted.orderReference)
    throw new ProviderUnavailable('provider returned a different payment')
  // A payment of the other mode must not be recorded.
  const account = toProviderAccount(store)
  if (isOfOtherMode(made, account)) {
    await endOtherMode(payments.provider, account, made)
    await giveUp(OTHER_MODE)
    throw new ProviderMisconfigured(
      'payment is of the other mode; check whether the access token is a test or a production one',
    )
  }
  return { ...toPaymentRecord(order.id, made), attempt_id }
}

/** The payment of an attempt, and the store whose account it is made with. */
async function prepare(
  { pool, vault, publicUrl }: Payments,
  { payment }: Paying,
  order: OrderObject,
  attempt: Attempt,
  payer: Payer,
): Promise<{ store: StoreAccess | null; wanted: NewPayment }> {
  const store = await findStore(pool, vault, order.store_alias)
  const asked = { ...payment, payer, expiresInMinutes: expiryOf(payment) }
  return { store, wanted: newPayment(order, attempt, asked, publicUrl) }
}

/** If the provider knows the attempt with other content, such as changed buyer data, finds its payment instead. */
async function createOrFind(
  provider: PaymentProvider,
  account: ProviderAccount,
  wanted: NewPayment,
): Promise<ProviderPayment> {
  try {
    return await provider.createPayment(account, wanted)
  } catch (error) {
    if (!(error instanceof ProviderConflict)) throw error
    const found = await provider.findPayments(account, wanted.orderReference)
    const made = found.find(({ attemptId }) => attemptId === wanted.attemptId)
    if (!made) throw error
    return made
  }
}

export function toProviderAccount(store: StoreAccess | null) {
  if (!store?.accessToken) throw new ProviderMisconfigured('store has no access token; set one')
  return accountAt(store)
}

function newPayment(
  order: OrderObject,
  { attempt_id, commission_percentage, payment_method_id }: Attempt,
  {
    payer,
    token,
    installments,
    expiresInMinutes,
  }: Pick<PayInput, 'token' | 'installments'> & { readonly payer: Payer; readonly expiresInMinutes: number | null },
  publicUrl: string,
): NewPayment {
  return {
    attemptId: attempt_id,
    orderReference: order.provider_reference,
    amountCents: toCents(order.total),
    applicationFeeCents: toCents(splitCommission(order.total, commission_percentage).amount),
    paymentMethodId: payment_method_id,
    payer,
    token: token ?? undefined,
    installments: token ? (installments ?? 1) : undefined,
    expiresInMinutes: expiresInMinutes ?? undefined,
    description: `Pedido ${order.external_id ?? order.id}`,
    notificationUrl: `${publicUrl}/webhook/paymentprovider/${order.store_alias}/${order.id}?source_news=webhooks`,
  }
}

const MAX_REASON = 500

const textOf = (causes: readonly ProviderCause[]): string =>
  causes.map(({ code, description }) => `${code}: ${description}`).join('; ')

const bounded = (text: string): string => [...text].slice(0, MAX_REASON).join('')

export const formatProviderReason = ({ causes }: ProviderRefused): string =>
  bounded(textOf(causes)) || 'sem motivo informado'

/** Begins the refusal of an attempt that failed for the store's settings at the provider. */
export const CONFIGURATION = 'configuração do provedor inválida'

/** Why wrong settings of a store made no payment or refund, as its owners read it at the order. */
export const formatMisconfiguration = ({ causes }: ProviderMisconfigured): string =>
  bounded(causes.length === 0 ? CONFIGURATION : `${CONFIGURATION} (${textOf(causes)})`)

/** Payment methods of an order, as offered by the store's account at the provider. */
export interface PaymentOptionsObject {
  readonly amount: string
  readonly methods: readonly OnlineMethod[]
  /** Null if no card was given, or the provider does not know it. */
  readonly card: {
    readonly brand: string
    readonly installments: readonly { installments: number; installment_amount: string; total_amount: string }[]
  } | null
}

interface OptionsDependencies {
  readonly pool: Queryable
  readonly vault: Vault
  readonly provider: Pick<PaymentProvider, 'getPaymentMethods' | 'getCardOptions'>
}

/**
 * Fetches the payment methods of an order; `bin`: first digits of a card. Null if the company has no such order.
 * @throws StoreNotConnected, ProviderUnavailable, ProviderMisconfigured
 */
export async function paymentOptions(
  { pool, vault, provider }: OptionsDependencies,
  { companyId, orderId, bin }: { companyId: number; orderId: number; bin: string | undefined },
): Promise<PaymentOptionsObject | null> {
  const payable = await findPayableOrder(fullReader(pool, companyId), orderId)
  if (!payable) return null
  const { total, store_alias } = payable.order
  const store = await findStore(pool, vault, store_alias)
  if (!store?.accessToken) throw new StoreNotConnected('store has no access token; connect it')
  const account = toProviderAccount(store)
  const [offered, card] = await Promise.all([
    provider.getPaymentMethods(account),
    bin === undefined ? null : provider.getCardOptions(account, toCents(total), bin),
  ])
  return {
    amount: total,
    methods: ONLINE_METHODS.filter((method) => isOffered(method, offered)),
    card: card && shown(card),
  }
}

/** Other kinds of boleto are not supported. */
const isOffered = (method: OnlineMethod, offered: readonly string[]): boolean =>
  method === 'card'
    ? offered.some((id) => toOnlineMethod(id) === 'card')
    : offered.includes(method === 'pix' ? PIX : BOLETO)

const shown = ({ brand, installments }: CardOptions) => ({
  brand,
  installments: installments.map(({ installments, installmentCents, totalCents }) => ({
    installments,
    installment_amount: fromCents(installmentCents),
    total_amount: fromCents(totalCents),
  })),
})
