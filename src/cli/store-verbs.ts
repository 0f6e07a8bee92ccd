import { isDeepStrictEqual } from 'node:util'
import {
  CreatePaymentTypeInput,
  CreateStoreInput,
  createPaymentType,
  createStore,
  disableStore,
  enableStore,
  SwitchStoreInput,
  UpdatePaymentTypeInput,
  UpdateStoreInput,
  USUAL_PAYMENT_TYPES,
  updatePaymentType,
  updateStore,
} from '#commands/store-commands.ts'
import { refuse } from '#domain/refusals.ts'
import { nameKey } from '#domain/text.ts'
import type { Command } from '#ledger/command.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import type { PaymentTypeObject, StoreObject } from '#projections/stores.ts'
import { findStore } from '#queries/company-queries.ts'
import type { Core } from '#service/core.ts'
import {
  type Context,
  companyIdFrom,
  givenFlags,
  parseIdArgument,
  Refused,
  requireAccepted,
  type Verb,
  type Verbs,
  validateInput,
} from './verb.ts'

/** Runs a command on the store with an alias, which also identifies its company. */
async function onStore<I extends { alias: string }>(context: Context, command: Command<I>, input: I) {
  const { pool, vault, writer } = await context.core()
  const store = await findStore(pool, vault, input.alias)
  if (!store) throw new Refused(refuse('not_found', { alias: input.alias }))
  return requireAccepted(await runAsSystem<StoreObject, I>(writer, store.companyId, command, input))
}

const switchVerb = (command: Command<SwitchStoreInput>): Verb<'store enable' | 'store disable'> => ({
  run: (context, values) => onStore(context, command, validateInput(SwitchStoreInput, values)),
})

interface StoreFields {
  readonly alias: string
  readonly commission?: string | undefined
  readonly 'registers-sales'?: string | undefined
  readonly 'access-token'?: string | undefined
  readonly 'notification-secret'?: string | undefined
}

const YES_OR_NO: Readonly<Record<string, boolean>> = { yes: true, no: false }

/** Any other text than yes or no is refused by the command's schema. */
const storeInput = ({ alias, commission, 'registers-sales': sales, ...secrets }: StoreFields) =>
  givenFlags({
    alias,
    commission_percentage: commission,
    registers_sales: sales === undefined ? undefined : (YES_OR_NO[sales] ?? sales),
    access_token: secrets['access-token'],
    notification_secret: secrets['notification-secret'],
  })

export const storeVerbs: Omit<Verbs<'store'>, 'store list'> = {
  'store create': {
    async run(context, { company, sandbox, ...values }) {
      const input = validateInput(CreateStoreInput, { ...storeInput(values), sandbox: sandbox !== undefined })
      const { core, companyId } = await companyIdFrom(context, company)
      return requireAccepted(
        await runAsSystem<StoreObject, CreateStoreInput>(core.writer, companyId, createStore, input),
      )
    },
  },
  'store update': {
    run: (context, values) => onStore(context, updateStore, validateInput(UpdateStoreInput, storeInput(values))),
  },
  'store enable': switchVerb(enableStore),
  'store disable': switchVerb(disableStore),
}

interface PaymentTypeFields {
  readonly name?: string | undefined
  readonly kind?: string | undefined
  readonly fee?: string | undefined
  readonly 'due-days'?: string | undefined
  readonly 'acquirer-rate'?: string | undefined
  readonly 'acquirer-rate-2-6'?: string | undefined
  readonly 'acquirer-rate-7-12'?: string | undefined
  readonly 'fee-refunded'?: string | undefined
  readonly 'settles-in'?: string | undefined
}

const daysOf = (days: string | undefined) => (days === undefined ? undefined : Number(days))

/** An empty value removes a term of the acquirer. */
const termOf = (value: string | undefined) => (value === '' ? null : value)

const paymentTypeInput = ({ name, kind, fee, 'due-days': due, 'settles-in': settles, ...terms }: PaymentTypeFields) =>
  givenFlags({
    name,
    kind,
    fee_percentage: fee,
    due_days: daysOf(due),
    acquirer_rate: termOf(terms['acquirer-rate']),
    acquirer_rate_2_6: termOf(terms['acquirer-rate-2-6']),
    acquirer_rate_7_12: termOf(terms['acquirer-rate-7-12']),
    acquirer_fee_refunded: refundedOf(terms['fee-refunded']),
    settles_in_days: settles === '' ? null : daysOf(settles),
  })

/** Another text is for the schema to refuse. */
const refundedOf = (value: string | undefined) => (value === 'yes' || value === 'no' ? value === 'yes' : value)

/**
 * The payment type that a new company got under this name and kind, while it has no terms of its own: creating it again
 * sets it up.
 */
function findUntouched(types: readonly PaymentTypeObject[], { name, kind }: CreatePaymentTypeInput) {
  const usual = USUAL_PAYMENT_TYPES.find((each) => nameKey(each.name) === nameKey(name) && each.kind === kind)
  const isUntouched = (type: PaymentTypeObject) =>
    isDeepStrictEqual(CreatePaymentTypeInput.parse(usual), {
      name: type.name,
      kind: type.kind,
      fee_percentage: type.fee_percentage,
      due_days: type.due_days,
    }) &&
    type.acquirer_rate === null &&
    type.acquirer_rate_2_6 === null &&
    type.acquirer_rate_7_12 === null &&
    !type.acquirer_fee_refunded &&
    type.settles_in_days === null
  return usual && types.find((type) => nameKey(type.name) === nameKey(name) && isUntouched(type))
}

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

export const paymentTypeVerbs: Verbs<'payment-type create' | 'payment-type update'> = {
  'payment-type create': {
    async run(context, { company, ...values }) {
      const input = validateInput(CreatePaymentTypeInput, paymentTypeInput(values))
      const { core, companyId } = await companyIdFrom(context, company)
      const usual = findUntouched(await list(core, companyId), input)
      const answer = usual
        ? runAsSystem<PaymentTypeObject>(core.writer, companyId, updatePaymentType, { ...input, id: usual.id })
        : runAsSystem<PaymentTypeObject>(core.writer, companyId, createPaymentType, input)
      return requireAccepted(await answer)
    },
  },
  'payment-type update': {
    async run(context, { company, id, ...values }) {
      const { name, ...fields } = validateInput(UpdatePaymentTypeInput.omit({ id: true }), paymentTypeInput(values))
      const { core, companyId } = await companyIdFrom(context, company)
      const input =
        id === undefined
          ? { id: await findByName(core, companyId, name), ...fields }
          : { id: parseIdArgument(id), ...givenFlags({ name }), ...fields }
      return requireAccepted(await runAsSystem<PaymentTypeObject>(core.writer, companyId, updatePaymentType, input))
    },
  },
}
