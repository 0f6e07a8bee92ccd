import { z } from 'zod'
import { orDefault } from '#domain/optional.ts'
import { normalizePercentage, Percentage } from '#domain/percentage.ts'
import { invalid, refuse } from '#domain/refusal.ts'
import { Id, nameText } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { PAYMENT_KINDS } from '#events/companies.ts'
import { accept, command } from '#ledger/command.ts'
import { paymentTypeById, paymentTypeByName } from '#projections/payment-types.ts'
import { changedRecordFields, duplicateOf, isEmpty } from './records.ts'

/** Ten years. */
const MAX_DUE_DAYS = 3650

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

export const CreatePaymentTypeInput = z.strictObject({
  ...paymentTypeShape,
  fee_percentage: orDefault(paymentTypeShape.fee_percentage, '0.00'),
  due_days: orDefault(paymentTypeShape.due_days, 30),
})
export type CreatePaymentTypeInput = z.infer<typeof CreatePaymentTypeInput>

/** Creates a payment type with a unique name (TYPE-3). */
export const createPaymentType = command<CreatePaymentTypeInput>({
  needs: ({ name }) => [paymentTypeByName(name)],
  decide(rows, input, { nextId }) {
    const duplicate = duplicateOf('name', rows.get(paymentTypeByName(input.name)), null)
    if (duplicate) return duplicate
    const created = event('PaymentTypeCreated', { id: nextId('payment_type'), ...input })
    return accept('created', created.subject, [created])
  },
})

/** Absent fields stay unchanged. */
export const UpdatePaymentTypeInput = z.strictObject({ id: Id, ...z.strictObject(paymentTypeShape).partial().shape })
export type UpdatePaymentTypeInput = z.infer<typeof UpdatePaymentTypeInput>

/** Applies to future payments: those of past sales keep their fee. */
export const updatePaymentType = command<UpdatePaymentTypeInput>({
  needs: ({ id, name }) => [paymentTypeById(id), ...(name === undefined ? [] : [paymentTypeByName(name)])],
  decide(rows, { id, ...fields }) {
    const known = rows.get(paymentTypeById(id))
    if (!known) return refuse('not_found')
    if (fields.kind !== undefined && known.doc.kind === 'online') return invalid('kind', 'é da loja online e não muda')
    const { name } = fields
    const duplicate = name === undefined ? null : duplicateOf('name', rows.get(paymentTypeByName(name)), id)
    if (duplicate) return duplicate
    const changes = changedRecordFields(known.doc, fields)
    if (isEmpty(changes)) return accept('unchanged', `payment_type/${id}`)
    return accept('updated', `payment_type/${id}`, [event('PaymentTypeUpdated', { id, changes })])
  },
})
