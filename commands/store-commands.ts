import * as z from 'zod'
import { Instant } from '#domain/instant.ts'
import { normalizePercentage } from '#domain/money.ts'
import { type Refusal, refuse, refuseField } from '#domain/refusals.ts'
import { boundedText, Id, limitedText } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { STORE_SECRETS } from '#events/company-events.ts'
import { accept, type Command, command, type DecisionContext, isRefusal, type NewEvent } from '#ledger/command.ts'
import type { Rows } from '#ledger/working-set.ts'
import { companyRef, ownCompany } from '#projections/companies.ts'
import {
  paymentTypeById,
  paymentTypeByName,
  type StoreSecrets,
  storeByAlias,
  storeSecrets,
  storeSecretsByAlias,
} from '#projections/stores.ts'
import { Alias, PAYMENT_TYPE_DEFAULTS, PAYMENT_TYPE_FIELDS, STORE_FIELDS } from '#records/company-settings.ts'
import { changesShape, pickFields, wholeShape } from '#records/field.ts'
import { isEmpty, namedRefs, pickChanges, refuseDuplicate, warnSpelledAlike } from './record-commands.ts'

export const CreatePaymentTypeInput = z.strictObject(wholeShape(PAYMENT_TYPE_FIELDS))
export type CreatePaymentTypeInput = z.infer<typeof CreatePaymentTypeInput>

/** Creates a payment type with a unique name (REC-1). */
export const createPaymentType = command<CreatePaymentTypeInput>({
  permission: 'manage_company',
  needs: ({ name }) => namedRefs(paymentTypeByName, name),
  decide(rows, { acquirer_rate = null, settles_in_days = null, ...terms }, { nextId }) {
    const { acquirer_rate_2_6, acquirer_rate_7_12, acquirer_fee_refunded, ...input } = terms
    const duplicate = refuseDuplicate('name', rows.get(paymentTypeByName(input.name)), null)
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
export const PaymentTypeChanges = z.strictObject(changesShape(PAYMENT_TYPE_FIELDS))

export const UpdatePaymentTypeInput = z.strictObject({ id: Id, ...PaymentTypeChanges.shape })
export type UpdatePaymentTypeInput = z.infer<typeof UpdatePaymentTypeInput>

/** Applies to future payments: those of past sales keep their fee. */
export const updatePaymentType = command<UpdatePaymentTypeInput>({
  permission: 'manage_company',
  needs: ({ id, name }) => [paymentTypeById(id), ...namedRefs(paymentTypeByName, name)],
  decide(rows, { id, ...input }) {
    const known = rows.get(paymentTypeById(id))
    if (!known) return refuse('not_found')
    if (input.kind !== undefined && known.doc.kind === 'online')
      return refuseField('kind', 'é da loja online e não muda')
    const { name, fee_percentage, due_days } = input
    const fields = {
      ...input,
      fee_percentage: fee_percentage === null ? PAYMENT_TYPE_DEFAULTS.fee_percentage : fee_percentage,
      due_days: due_days === null ? PAYMENT_TYPE_DEFAULTS.due_days : due_days,
      acquirer_fee_refunded: input.acquirer_fee_refunded === null ? false : input.acquirer_fee_refunded,
    }
    const duplicate = name === undefined ? null : refuseDuplicate('name', rows.get(paymentTypeByName(name)), id)
    if (duplicate) return duplicate
    const changes = pickChanges(known.doc, fields)
    const remarks = alike(rows, name, id)
    if (isEmpty(changes)) return accept('unchanged', `payment_type/${id}`, [], [], remarks)
    return accept('updated', `payment_type/${id}`, [event('PaymentTypeUpdated', { id, changes })], [], remarks)
  },
})

const alike = (rows: Rows, name: string | undefined, ownId: number | null) =>
  warnSpelledAlike(rows, { byName: paymentTypeByName }, name, ownId)

/** Payment types of a new company, which its owner completes with the terms of the shop. */
export const USUAL_PAYMENT_TYPES: readonly CreatePaymentTypeInput[] = [
  { name: 'Dinheiro', kind: 'cash', ...PAYMENT_TYPE_DEFAULTS },
  { name: 'Pix', kind: 'pix', ...PAYMENT_TYPE_DEFAULTS },
  { name: 'Cartão de débito', kind: 'card', ...PAYMENT_TYPE_DEFAULTS },
  { name: 'Cartão de crédito', kind: 'card', ...PAYMENT_TYPE_DEFAULTS },
]

/** Of the payment type of orders; the provider's share is the commission. */
const ONLINE_TERMS = { fee_percentage: '0.00', due_days: 30, acquirer_rate: null, settles_in_days: null }

const SECRET = 'deve ter de 1 a 500 caracteres ASCII visíveis, sem espaços'

/** Secret of the provider, of any length up to the limit; other characters are a paste error. */
const StoreSecret = limitedText(500, SECRET).regex(/^[\x21-\x7e]{1,500}$/, SECRET)

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
  ...wholeShape(STORE_FIELDS),
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
  if (!name) return refuseField('payment_types', `dê outro nome à forma de pagamento "${ONLINE_TYPE_NAMES[0]}"`)
  const id = nextId('payment_type')
  return [event('PaymentTypeCreated', { id, name, kind: 'online', ...ONLINE_TERMS })]
}

/** Absent fields stay unchanged. Alias and sandbox cannot change: pending payments refer to them. */
export const UpdateStoreInput = z.strictObject({
  alias: Alias,
  ...changesShape(pickFields(STORE_FIELDS, 'commission_percentage', 'registers_sales')),
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
    const changes = pickChanges(store.doc, {
      commission_percentage: fields.commission_percentage && normalizePercentage(fields.commission_percentage),
      registers_sales: fields.registers_sales,
    })
    const paymentType = changes.registers_sales ? missingOnlineType(rows, nextId) : []
    if (isRefusal(paymentType)) return paymentType
    const replaced = namesOf(pickChanges(current, secrets))
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

const DAY_MS = 86_400_000
/** Days before its end at which an access token is renewed. */
const RENEWAL_DAYS = 30

/** At half of its life, if that is shorter. */
function renewalOf(now: string, expiresAt: string): string {
  const [from, to] = [Date.parse(now), Date.parse(expiresAt)]
  return new Date(Math.max(to - RENEWAL_DAYS * DAY_MS, from + (to - from) / 2)).toISOString()
}

/** New tokens are stored in schema `ops`, not in the event. */
const tokensShape = { access_token: StoreSecret, refresh_token: StoreSecret, expires_at: Instant }

const refsOf = ({ alias }: { readonly alias: string }) => [storeByAlias(alias), storeSecretsByAlias(alias)]

/** The company's store with its secrets; null if the company has none under the alias, or its secrets were lost. */
function storeOf(rows: Rows, alias: string) {
  const store = rows.get(storeByAlias(alias))
  const holder = rows.get(storeSecretsByAlias(alias))
  return store && holder && holder.store_id === store.id ? { store, holder } : null
}

const ConnectStoreInput = z.strictObject({
  alias: Alias,
  /** Account at the provider. */
  account_id: boundedText(60),
  ...tokensShape,
})
type ConnectStoreInput = z.infer<typeof ConnectStoreInput>

/** Replaces the access token of a store by one that the owner of an account at the provider granted. */
export const connectStore = command<ConnectStoreInput>({
  permission: 'manage_company',
  needs: refsOf,
  decide(rows, { alias, account_id, access_token, refresh_token, expires_at }, { companyId, recordedAt }) {
    const store = rows.get(storeByAlias(alias))
    if (!store) return refuse('not_found')
    const holder = rows.get(storeSecretsByAlias(alias))
    if (holder && holder.store_id !== store.id) return refuse('duplicate_resource', { field: 'alias' })
    const row: StoreSecrets = {
      store_id: store.id,
      company_id: companyId,
      alias,
      secrets: { access_token, notification_secret: holder?.secrets.notification_secret ?? null, refresh_token },
      renew_at: renewalOf(recordedAt, expires_at),
    }
    const connected = event('StoreConnected', { id: store.id, account_id, expires_at })
    return accept('updated', connected.subject, [connected], [{ table: storeSecrets, row }])
  },
})

const RenewStoreConnectionInput = z.strictObject({
  alias: Alias,
  /** The refresh token that the provider took. */
  used: StoreSecret,
  ...tokensShape,
})
type RenewStoreConnectionInput = z.infer<typeof RenewStoreConnectionInput>

/** Stores renewed tokens. Changes nothing if the store was connected anew, or its token set by hand, meanwhile. */
export const renewStoreConnection = command<RenewStoreConnectionInput>({
  needs: refsOf,
  decide(rows, { alias, used, access_token, refresh_token, expires_at }, { recordedAt }) {
    const known = storeOf(rows, alias)
    if (!known) return refuse('not_found')
    const { store, holder } = known
    if (holder.secrets.refresh_token !== used) return accept('unchanged', `store/${store.id}`)
    const secrets = { ...holder.secrets, access_token, refresh_token }
    const row: StoreSecrets = { ...holder, secrets, renew_at: renewalOf(recordedAt, expires_at) }
    const renewed = event('StoreConnectionRenewed', { id: store.id, expires_at })
    return accept('updated', renewed.subject, [renewed], [{ table: storeSecrets, row }])
  },
})

const RefuseStoreConnectionInput = z.strictObject({
  alias: Alias,
  /** The refresh token that the provider refused. */
  used: StoreSecret,
  /** Code of the provider. */
  reason: boundedText(60),
})
type RefuseStoreConnectionInput = z.infer<typeof RefuseStoreConnectionInput>

/** Records that the provider refused to renew a connection, once until it changes. */
export const refuseStoreConnection = command<RefuseStoreConnectionInput>({
  needs: refsOf,
  decide(rows, { alias, used, reason }) {
    const known = storeOf(rows, alias)
    if (!known) return refuse('not_found')
    const { store, holder } = known
    const { connection } = store.doc
    if (holder.secrets.refresh_token !== used || connection === null || connection.refusal === reason)
      return accept('unchanged', `store/${store.id}`)
    return accept('updated', `store/${store.id}`, [event('StoreConnectionRefused', { id: store.id, reason })])
  },
})
