import * as z from 'zod'
import { normalizePercentage, Percentage } from '#domain/percentage.ts'
import { expects } from '#domain/portuguese.ts'
import { invalid, type Refusal, refuse } from '#domain/refusal.ts'
import { limitedText } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { STORE_SECRETS } from '#events/stores.ts'
import { accept, type Command, command, type DecisionContext, isRefusal } from '#ledger/command.ts'
import type { NewEvent } from '#ledger/envelope.ts'
import type { Rows } from '#ledger/working-set.ts'
import { companyRef, ownCompany } from '#projections/companies.ts'
import { paymentTypeByName } from '#projections/payment-types.ts'
import { type StoreSecrets, storeByAlias, storeSecrets, storeSecretsByAlias } from '#projections/stores.ts'
import { changedRecordFields, isEmpty } from './records.ts'

const ALIAS = 'deve ter de 2 a 60 letras minúsculas sem acento, algarismos e hifens entre eles, como "minha-loja"'

/** URL name of the store: lower-case words joined by hyphens. */
export const Alias = limitedText(60, ALIAS)
  .min(2, ALIAS)
  .regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, ALIAS)

const YES_OR_NO = 'deve ser sim (yes) ou não (no)'

/** Of the payment type of orders; the provider's share is the commission. */
const ONLINE_TERMS = { fee_percentage: '0.00', due_days: 30, acquirer_rate: null, settles_in_days: null }

const SECRET = 'deve ter de 1 a 500 caracteres ASCII visíveis, sem espaços'

/** Secret of the provider, of any length up to the limit; other characters are a paste error. */
export const StoreSecret = limitedText(500, SECRET).regex(/^[\x21-\x7e]{1,500}$/, SECRET)

/**
 * Both can be added later. Without a token the store takes no payments; without a secret its notifications are not
 * signed.
 */
const secretsShape = { access_token: StoreSecret.optional(), notification_secret: StoreSecret.optional() }

type Secrets = Readonly<Partial<Record<(typeof STORE_SECRETS)[number], string | null | undefined>>>

/** Names of the given secrets: events contain only these. */
const namesOf = (secrets: Secrets) => STORE_SECRETS.filter((name) => secrets[name] !== undefined)

/** Secrets are stored in schema `ops`, not in the event. */
export const CreateStoreInput = z.strictObject({
  alias: Alias,
  /** The service's share of the store's payments. */
  commission_percentage: Percentage,
  sandbox: z.boolean().default(false),
  /** Whether the service registers a sale when an order is paid; default: yes. */
  registers_sales: z.boolean(expects(YES_OR_NO)).optional(),
  ...secretsShape,
})
export type CreateStoreInput = z.infer<typeof CreateStoreInput>

/** Creates an online store. Its alias is unique in the whole service, permanently. */
export const createStore = command<CreateStoreInput>({
  permission: 'manage_company',
  needs: ({ alias }) => [ownCompany, storeSecretsByAlias(alias), storeByAlias(alias), ...ONLINE_TYPE_REFS],
  decide(
    rows,
    { alias, commission_percentage, sandbox: wanted, registers_sales = true, ...secrets },
    { companyId, nextId },
  ) {
    // Stores of a test company are always in the sandbox (KIT-40).
    const sandbox = wanted || companyRef(rows).is_test
    const own = rows.get(storeByAlias(alias))
    if (own) return refuse('duplicate_resource', { field: 'alias', conflicting_id: own.id })
    // Of another company's store, only the taken alias is revealed.
    if (rows.get(storeSecretsByAlias(alias))) return refuse('duplicate_resource', { field: 'alias' })
    const paymentType = missingOnlineType(rows, nextId)
    if (isRefusal(paymentType)) return paymentType
    const id = nextId('store')
    const created = event('StoreCreated', {
      id,
      alias,
      commission_percentage: normalizePercentage(commission_percentage),
      sandbox,
      registers_sales,
      secrets: namesOf(secrets),
    })
    const { access_token = null, notification_secret = null } = secrets
    const current = { access_token, notification_secret }
    const row: StoreSecrets = { store_id: id, company_id: companyId, alias, secrets: current, renew_at: null }
    return accept('created', created.subject, [created, ...paymentType], [{ table: storeSecrets, row }])
  },
})

/** Names of the payment type of orders; the later ones for companies that have a payment type of that name. */
const ONLINE_TYPE_NAMES = ['Loja online', 'Pagamento online', 'Pedido da loja online'] as const
const ONLINE_TYPE_REFS = ONLINE_TYPE_NAMES.map(paymentTypeByName)

/** Event of the payment type of orders; none if the company has it. */
function missingOnlineType(rows: Rows, nextId: DecisionContext['nextId']): NewEvent[] | Refusal {
  if (companyRef(rows).online_payment_type_id !== null) return []
  const name = ONLINE_TYPE_NAMES.find((each) => !rows.get(paymentTypeByName(each)))
  if (!name) return invalid('payment_types', `dê outro nome à forma de pagamento "${ONLINE_TYPE_NAMES[0]}"`)
  const id = nextId('payment_type')
  return [event('PaymentTypeCreated', { id, name, kind: 'online', ...ONLINE_TERMS })]
}

/** Absent fields stay unchanged. Alias and sandbox cannot change: pending payments refer to them. */
export const UpdateStoreInput = z.strictObject({
  alias: Alias,
  commission_percentage: Percentage.optional(),
  registers_sales: z.boolean(expects(YES_OR_NO)).optional(),
  ...secretsShape,
})
export type UpdateStoreInput = z.infer<typeof UpdateStoreInput>

/** For a store that lost its secrets because a process died before its commit. */
const NO_SECRETS = { access_token: null, notification_secret: null }

/** Changes the commission of future payments and whether they become sales, and replaces secrets. */
export const updateStore = command<UpdateStoreInput>({
  permission: 'manage_company',
  needs: ({ alias }) => [ownCompany, storeByAlias(alias), storeSecretsByAlias(alias), ...ONLINE_TYPE_REFS],
  decide(rows, { alias, access_token, notification_secret, ...fields }, { companyId, nextId }) {
    const store = rows.get(storeByAlias(alias))
    if (!store) return refuse('not_found')
    const { id } = store
    const holder = rows.get(storeSecretsByAlias(alias))
    if (holder && holder.store_id !== id) return refuse('duplicate_resource', { field: 'alias' })
    const current = holder?.secrets ?? NO_SECRETS
    const secrets = {
      access_token: access_token ?? current.access_token,
      notification_secret: notification_secret ?? current.notification_secret,
    }
    // A token that is set by hand ends the connection.
    const isByHand = secrets.access_token !== current.access_token
    const row: StoreSecrets = {
      store_id: id,
      company_id: companyId,
      alias,
      secrets: { ...(isByHand ? {} : current), ...secrets },
      renew_at: isByHand ? null : (holder?.renew_at ?? null),
    }
    const changes = changedRecordFields(store.doc, {
      commission_percentage: fields.commission_percentage && normalizePercentage(fields.commission_percentage),
      registers_sales: fields.registers_sales,
    })
    const paymentType = changes.registers_sales ? missingOnlineType(rows, nextId) : []
    if (isRefusal(paymentType)) return paymentType
    const replaced = namesOf(changedRecordFields(current, secrets))
    const events: NewEvent[] = [
      ...(isEmpty(changes) ? [] : [event('StoreUpdated', { id, changes }), ...paymentType]),
      ...(replaced.length === 0 ? [] : [event('StoreSecretsReplaced', { id, secrets: replaced })]),
    ]
    if (events.length === 0) return accept('unchanged', `store/${id}`)
    return accept('updated', `store/${id}`, events, [{ table: storeSecrets, row }])
  },
})

export const SwitchStoreInput = z.strictObject({ alias: Alias })
export type SwitchStoreInput = z.infer<typeof SwitchStoreInput>

const switchTo = (enabled: boolean): Command<SwitchStoreInput> =>
  command({
    permission: 'manage_company',
    needs: ({ alias }) => [storeByAlias(alias)],
    decide(rows, { alias }) {
      const store = rows.get(storeByAlias(alias))
      if (!store) return refuse('not_found')
      const { id } = store
      if (store.enabled === enabled) return accept('unchanged', `store/${id}`)
      return accept('updated', `store/${id}`, [event(enabled ? 'StoreEnabled' : 'StoreDisabled', { id })])
    },
  })

/** Accepts orders, payments and notifications again. */
export const enableStore = switchTo(true)

/** The store takes no more orders or payments, and answers notifications as if it did not exist. */
export const disableStore = switchTo(false)
