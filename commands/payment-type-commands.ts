import * as z from 'zod'
import { normalizePercentage, Percentage } from '#domain/money.ts'
import { invalid, refuse } from '#domain/refusals.ts'
import { Id, nameText, orDefault } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { PAYMENT_KINDS } from '#events/company-events.ts'
import { accept, command } from '#ledger/command.ts'
import type { Rows } from '#ledger/working-set.ts'
import { paymentTypeById, paymentTypeByName } from '#projections/stores.ts'
import { changedRecordFields, duplicateOf, isEmpty, namedRefs, spelledAlike } from './record-commands.ts'

/** Ten years. */
const MAX_DUE_DAYS = 3650
/** Acquirers pay within a year: a longer term is a mistake. */
const MAX_SETTLEMENT_DAYS = 365

/**
 * Each subscriber defines its own payment types, including kinds that only the point of sale may use. The type of kind
 * `online` is made with the online store.
 */
const paymentTypeShape = {
  name: nameText(60),
  kind: z.enum(PAYMENT_KINDS).exclude(['online']),
  /** Stored with exactly two decimals. */
  fee_percentage: Percentage.transform(normalizePercentage),
  /** Days until the receivable of a credit payment is due. */
  due_days: z.int().min(0).max(MAX_DUE_DAYS),
}

const DEFAULTS = { fee_percentage: '0.00', due_days: 30 } as const

/** Terms of the acquirer; null for none. */
const acquirerShape = {
  /** Percent of the charged amount, with exactly two decimals. */
  acquirer_rate: paymentTypeShape.fee_percentage.nullish(),
  acquirer_rate_2_6: paymentTypeShape.fee_percentage.nullish(),
  acquirer_rate_7_12: paymentTypeShape.fee_percentage.nullish(),
  acquirer_fee_refunded: z.boolean().nullish(),
  settles_in_days: z.int().min(0).max(MAX_SETTLEMENT_DAYS).nullish(),
}

export const CreatePaymentTypeInput = z.strictObject({
  ...paymentTypeShape,
  fee_percentage: orDefault(paymentTypeShape.fee_percentage, DEFAULTS.fee_percentage),
  due_days: orDefault(paymentTypeShape.due_days, DEFAULTS.due_days),
  ...acquirerShape,
})
export type CreatePaymentTypeInput = z.infer<typeof CreatePaymentTypeInput>

/** Creates a payment type with a unique name (REC-1). */
export const createPaymentType = command<CreatePaymentTypeInput>({
  permission: 'manage_company',
  needs: ({ name }) => namedRefs(paymentTypeByName, name),
  decide(rows, { acquirer_rate = null, settles_in_days = null, ...terms }, { nextId }) {
    const { acquirer_rate_2_6, acquirer_rate_7_12, acquirer_fee_refunded, ...input } = terms
    const duplicate = duplicateOf('name', rows.get(paymentTypeByName(input.name)), null)
    if (duplicate) return duplicate
    const fields = {
      ...input,
      acquirer_rate,
      ...(acquirer_rate_2_6 && { acquirer_rate_2_6 }),
      ...(acquirer_rate_7_12 && { acquirer_rate_7_12 }),
      ...(acquirer_fee_refunded && { acquirer_fee_refunded }),
      settles_in_days,
    }
    const created = event('PaymentTypeCreated', { id: nextId('payment_type'), ...fields })
    return accept('created', created.subject, [created], [], alike(rows, input.name, null))
  },
})

/** Body of PATCH: absent fields stay unchanged; null resets the optional ones. */
export const PaymentTypeChanges = z.strictObject({
  name: paymentTypeShape.name.optional(),
  kind: paymentTypeShape.kind.optional(),
  fee_percentage: paymentTypeShape.fee_percentage.nullish(),
  due_days: paymentTypeShape.due_days.nullish(),
  ...acquirerShape,
})

export const UpdatePaymentTypeInput = z.strictObject({ id: Id, ...PaymentTypeChanges.shape })
export type UpdatePaymentTypeInput = z.infer<typeof UpdatePaymentTypeInput>

/** Applies to future payments: those of past sales keep their fee. */
export const updatePaymentType = command<UpdatePaymentTypeInput>({
  permission: 'manage_company',
  needs: ({ id, name }) => [paymentTypeById(id), ...namedRefs(paymentTypeByName, name)],
  decide(rows, { id, ...input }) {
    const known = rows.get(paymentTypeById(id))
    if (!known) return refuse('not_found')
    if (input.kind !== undefined && known.doc.kind === 'online') return invalid('kind', 'é da loja online e não muda')
    const { name, fee_percentage, due_days } = input
    const fields = {
      ...input,
      fee_percentage: fee_percentage === null ? DEFAULTS.fee_percentage : fee_percentage,
      due_days: due_days === null ? DEFAULTS.due_days : due_days,
      acquirer_fee_refunded: input.acquirer_fee_refunded === null ? false : input.acquirer_fee_refunded,
    }
    const duplicate = name === undefined ? null : duplicateOf('name', rows.get(paymentTypeByName(name)), id)
    if (duplicate) return duplicate
    const changes = changedRecordFields(known.doc, fields)
    const remarks = alike(rows, name, id)
    if (isEmpty(changes)) return accept('unchanged', `payment_type/${id}`, [], [], remarks)
    return accept('updated', `payment_type/${id}`, [event('PaymentTypeUpdated', { id, changes })], [], remarks)
  },
})

const alike = (rows: Rows, name: string | undefined, ownId: number | null) =>
  spelledAlike(rows, { byName: paymentTypeByName }, name, ownId)

/** Payment types of a new company, which its owner completes with the terms of the shop. */
export const USUAL_PAYMENT_TYPES: readonly CreatePaymentTypeInput[] = [
  { name: 'Dinheiro', kind: 'cash', ...DEFAULTS },
  { name: 'Pix', kind: 'pix', ...DEFAULTS },
  { name: 'Cartão de débito', kind: 'card', ...DEFAULTS },
  { name: 'Cartão de crédito', kind: 'card', ...DEFAULTS },
]
