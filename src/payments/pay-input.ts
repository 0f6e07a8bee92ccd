import * as z from 'zod'
import { AddressInput, Document } from '#commands/people/person-input.ts'
import { orNone } from '#domain/codes.ts'
import {
  BOLETO,
  EXPIRY_MINUTES,
  LONGEST_EXPIRY_MINUTES,
  methodOf,
  ONLINE_METHODS,
  type OnlineMethod,
  PIX,
  SHORTEST_BOLETO_MINUTES,
  SHORTEST_EXPIRY_MINUTES,
} from '#domain/online-payment.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { boundedText, Email, nameText } from '#domain/text.ts'
import type { OrderObject } from '#projections/orders.ts'
import type { PersonFields } from '#projections/people.ts'
import type { Payer, PayerAddress } from './provider-port.ts'

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
      .refine((value) => /^[a-z][a-z0-9_]*$/.test(value) && methodOf(value) === 'card', BRAND)
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
export const paymentMethodIdOf = ({ method, brand }: PayInput): string =>
  method === 'card' ? (brand as string) : method === 'pix' ? PIX : BOLETO

export const expiryOf = ({ method, expires_in_minutes }: PayInput): number | null =>
  expires_in_minutes ?? EXPIRY_MINUTES[method]

const ADDRESS_PARTS = ['zip_code', 'street', 'number', 'neighborhood', 'city', 'state'] as const

/**
 * Payer: fields of the input, completed from the order's buyer and the customer's address. Refused, naming the missing
 * fields, if the provider requires more: an e-mail always, all fields for a boleto.
 */
export function payerOf(
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
