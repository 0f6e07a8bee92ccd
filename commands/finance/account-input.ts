import { z } from 'zod'
import { CalendarDate, Instant } from '#domain/instant.ts'
import { Money } from '#domain/money.ts'
import { PAYMENT_METHODS } from '#domain/payment-method.ts'
import { boundedText, Id, NewExternalId } from '#domain/text.ts'

/** Greater than zero. */
const Amount = Money.refine((value) => value !== '0.00', 'deve ser maior que zero')

const externalId = { external_id: NewExternalId.nullish() }

/** Fields of a whole account except external id and counterparty: POST, PUT and batch items. */
export const accountShape = { description: boundedText(200), amount: Amount, due_date: CalendarDate }

/** Fields of PATCH; absent ones stay unchanged. */
export const accountChangesShape = { ...externalId, ...z.strictObject(accountShape).partial().shape }

const account = z.strictObject({ ...externalId, ...accountShape })
export type AccountInput = z.infer<typeof account>

/** Counterparty in an input: one of its ids. Null: none; absent in a PATCH: unchanged. */
export interface PartyName {
  readonly id?: number | null
  readonly external_id?: string | null
}

/** For `superRefine`: allows only one of the two ids, since two could mean two parties. */
export function checkParty<N>(field: string, named: (input: N) => PartyName) {
  return (input: N, context: z.RefinementCtx): void => {
    const { id, external_id } = named(input)
    if (typeof id !== 'number' || typeof external_id !== 'string') return
    const message = `informe somente um entre ${field}_id e ${field}_external_id`
    context.addIssue({ code: 'custom', path: [`${field}_external_id`], message })
  }
}

/** Body of a settlement (ACCT-5). The amount is only checked. */
export const Settlement = z.strictObject({
  paid_at: Instant.nullish(),
  payment_method: boundedText(60),
  amount: Money.nullish(),
})

/** Settlement by a person, who chooses one of the documented methods. */
export const PanelSettlement = Settlement.extend({ payment_method: z.enum(PAYMENT_METHODS) }).omit({ amount: true })

export const SettleInput = z.strictObject({ id: Id, ...Settlement.shape })
export type SettleInput = z.infer<typeof SettleInput>
