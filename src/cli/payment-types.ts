import {
  CreatePaymentTypeInput,
  createPaymentType,
  UpdatePaymentTypeInput,
  updatePaymentType,
} from '#commands/payment-types.ts'
import { refuse } from '#domain/refusal.ts'
import { nameKey } from '#domain/text.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import type { PaymentTypeObject } from '#projections/payment-types.ts'
import type { Core } from '#service/core.ts'
import { accepted, companyIdFrom, givenFlags, parseIdArgument, Refused, type Verbs, validateInput } from './verb.ts'

interface Fields {
  readonly name?: string | undefined
  readonly kind?: string | undefined
  readonly fee?: string | undefined
  readonly 'due-days'?: string | undefined
}

const inputOf = ({ name, kind, fee, 'due-days': days }: Fields) =>
  givenFlags({ name, kind, fee_percentage: fee, due_days: days === undefined ? undefined : Number(days) })

async function list({ pool }: Core, companyId: number): Promise<PaymentTypeObject[]> {
  const { rows } = await pool.query<{ doc: PaymentTypeObject }>(
    'select doc from payment_types where company_id = $1 order by id',
    [companyId],
  )
  return rows.map((row) => row.doc)
}

async function findByName(core: Core, companyId: number, name: string | undefined): Promise<number> {
  const types = await list(core, companyId)
  const found = types.find((type) => name !== undefined && nameKey(type.name) === nameKey(name))
  if (!found) throw new Refused(refuse('not_found', { name: name ?? null }))
  return found.id
}

export const verbs: Verbs<'payment-type'> = {
  'payment-type create': {
    async run(context, { company, ...values }) {
      const input = validateInput(CreatePaymentTypeInput, inputOf(values))
      const { core, companyId } = await companyIdFrom(context, company)
      return accepted(await runAsSystem<PaymentTypeObject>(core.writer, companyId, createPaymentType, input))
    },
  },
  'payment-type update': {
    async run(context, { company, id, ...values }) {
      const { name, ...fields } = validateInput(UpdatePaymentTypeInput.omit({ id: true }), inputOf(values))
      const { core, companyId } = await companyIdFrom(context, company)
      const input =
        id === undefined
          ? { id: await findByName(core, companyId, name), ...fields }
          : { id: parseIdArgument(id), ...givenFlags({ name }), ...fields }
      return accepted(await runAsSystem<PaymentTypeObject>(core.writer, companyId, updatePaymentType, input))
    },
  },
  'payment-type list': {
    async run(context, { company }) {
      const { core, companyId } = await companyIdFrom(context, company)
      return list(core, companyId)
    },
  },
}
