import { isCpf, MASKED } from '#domain/person-values.ts'
import type { OutsideRequest } from '#ledger/write/dry-run.ts'
import type { NewPayment, NewRefund, Payer } from './provider-port.ts'

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
export function namesOf(name: string) {
  const [first_name = '', ...rest] = name.split(/\s+/)
  return { first_name, last_name: rest.join(' ') || first_name }
}

/** Cents as the JSON number that the provider expects: the nearest double, which prints with at most two decimals. */
export const asNumber = (cents: number): number => cents / 100

/**
 * Computed for each call: the time to pay of a repeated call would otherwise be shorter than the provider allows. The
 * provider requires a numeric offset.
 */
const minutesFromNow = (minutes: number): string =>
  new Date(Date.now() + minutes * 60_000).toISOString().replace('Z', '+00:00')

export function paymentBody({ expiresInMinutes, ...payment }: NewPayment) {
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
