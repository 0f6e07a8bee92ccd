import type { AcquirerTerms } from '#domain/payment-rules.ts'
import { nameKey } from '#domain/text.ts'
import type { DataOf, EventOf } from '#events/catalogue.ts'
import { type PaymentKind, STORE_SECRETS } from '#events/company-events.ts'
import { byKey, byPk, table } from '#ledger/table.ts'
import type { Changes } from '#ledger/working-set.ts'
import { companyRef } from './companies.ts'
import { type ChangedFields, changedColumns, existing, projection, stamp } from './define-projection.ts'

/** Payment type of sales as the API returns it. */
export type PaymentTypeObject = Omit<DataOf<'PaymentTypeCreated'>, keyof AcquirerTerms | 'acquirer_fee_refunded'> &
  AcquirerTerms & {
    is_cash: boolean
    accepts_api: boolean
    /** Why the API refuses it; absent if it does not. */
    reason?: string
    /** Whether the acquirer gives its fee back with what is given back on the card. */
    acquirer_fee_refunded: boolean
  }

export interface PaymentTypeRow extends ChangedFields {
  company_id: number
  id: number
  name_key: string
  doc: PaymentTypeObject
}

const paymentTypes = table<PaymentTypeRow>('payment_types', {
  about: 'Payment types of companies with their terms.',
  columns: { company_id: 'bigint', id: 'bigint', name_key: 'text', ...changedColumns, doc: 'json' },
  keys: { pk: ['company_id', 'id'], name: ['company_id', 'name_key'] },
  past: { id: 'id', without: ['name_key'] },
})

export const paymentTypeById = (id: number) => byPk(paymentTypes, id)
export const paymentTypeByName = (name: string) => byKey(paymentTypes, 'name', nameKey(name))

/** Kinds reserved for the point of sale, with the reason given to integrators. */
const INTERNAL_REASONS: Partial<Record<PaymentKind, string>> = {
  credit_account: 'Venda a prazo (crediário ou convênio): registre o valor como conta a receber.',
  exchange_credit: 'Crédito de troca é gerado somente pelo ponto de venda.',
  promotion: 'Desconto de promoção é gerado somente pelo ponto de venda.',
  online: 'Pedido da loja online: o serviço registra a venda junto com o pagamento.',
  cashback: 'Resgate de cashback é gerado somente pelo ponto de venda.',
}

function paymentTypeObject({
  id,
  name,
  kind,
  fee_percentage,
  due_days,
  acquirer_rate = null,
  acquirer_rate_2_6 = null,
  acquirer_rate_7_12 = null,
  acquirer_fee_refunded = false,
  settles_in_days = null,
}: DataOf<'PaymentTypeCreated'>): PaymentTypeObject {
  const reason = INTERNAL_REASONS[kind]
  return {
    id,
    name,
    kind,
    is_cash: kind === 'cash',
    fee_percentage,
    accepts_api: reason === undefined,
    ...(reason === undefined ? {} : { reason }),
    due_days,
    acquirer_rate,
    acquirer_rate_2_6,
    acquirer_rate_7_12,
    acquirer_fee_refunded,
    settles_in_days,
  }
}

export const paymentTypesProjection = projection('payment_types', [paymentTypes], {
  PaymentTypeCreated: {
    apply(rows, event) {
      const { company_id } = companyRef(rows)
      const { id, name } = event.data
      const doc = paymentTypeObject(event.data)
      rows.add(paymentTypes, { company_id, id, name_key: nameKey(name), ...stamp(event), doc })
    },
  },
  PaymentTypeUpdated: {
    refs: (event) => [paymentTypeById(event.data.id)],
    apply(rows, event) {
      const { id, changes } = event.data
      const before = existing(rows, paymentTypeById(id))
      const doc = paymentTypeObject({ ...before.doc, ...changes })
      rows.put(paymentTypes, { ...before, name_key: nameKey(doc.name), ...stamp(event), doc })
    },
  },
})

export interface StoreConnection {
  account_id: string
  /** When the access token ends, unless it is renewed before. */
  expires_at: string
  /** Code of the provider when it last refused a renewal; null if it did not. */
  refusal: string | null
}

/** Online store without its secrets, as the command line and the panel show it. */
export type StoreObject = Required<Omit<DataOf<'StoreCreated'>, 'secrets'>> & {
  enabled: boolean
  has_access_token: boolean
  has_notification_secret: boolean
  /** Account at the provider that its owner connected; null while the access token is set by hand, or missing. */
  connection: StoreConnection | null
  created_at: string
  updated_at: string
}

interface StoreRow extends ChangedFields {
  company_id: number
  id: number
  alias: string
  enabled: boolean
  doc: StoreObject
}

const stores = table<StoreRow>('stores', {
  about: 'Online stores.',
  columns: { company_id: 'bigint', id: 'bigint', alias: 'text', enabled: 'boolean', ...changedColumns, doc: 'json' },
  keys: { pk: ['company_id', 'id'], alias: ['company_id', 'alias'] },
  indexes: ['(alias)', `(id) where doc#>>'{connection,refusal}' is not null`],
  past: { id: 'id' },
})

export const storeById = (id: number) => byPk(stores, id)
export const storeByAlias = (alias: string) => byKey(stores, 'alias', alias)

/** Alias and secrets of a store; schema `ops`, secrets never in an event. Aliases are unique in the whole service. */
export interface StoreSecrets {
  company_id: number
  store_id: number
  alias: string
  /** `refresh_token`: of a connected account only. */
  secrets: { access_token: string | null; notification_secret: string | null; refresh_token?: string }
  /** When the access token of a connected account is renewed, or a failed renewal repeated; null without one. */
  renew_at: string | null
}

export const storeSecrets = table<StoreSecrets>('store_secrets', {
  global: true,
  columns: {
    company_id: 'bigint',
    store_id: 'bigint',
    alias: 'text',
    secrets: 'sealed',
    renew_at: 'timestamptz',
  },
  keys: { pk: ['company_id', 'store_id'], alias: ['alias'] },
})

export const storeSecretsByAlias = (alias: string) => byKey(storeSecrets, 'alias', alias)

type Secrets = DataOf<'StoreCreated'>['secrets']

/** Flags of the secrets that an event sets. */
function presence(secrets: Secrets): Partial<StoreObject> {
  return Object.fromEntries(
    STORE_SECRETS.filter((name) => secrets.includes(name)).map((name) => [`has_${name}`, true]),
  ) as Partial<StoreObject>
}

function changing<E extends { data: { id: number }; revision: number; recorded_at: string }>(
  change: (event: E, before: StoreObject) => Partial<StoreObject>,
) {
  return {
    refs: (event: E) => [storeById(event.data.id)],
    apply(rows: Changes, event: E) {
      const before = existing(rows, storeById(event.data.id))
      const doc = { ...before.doc, ...change(event, before.doc), updated_at: event.recorded_at }
      rows.put(stores, { ...before, enabled: doc.enabled, ...stamp(event), doc })
    },
  }
}

export const storesProjection = projection('stores', [stores], {
  StoreCreated: {
    apply(rows, event) {
      const { company_id } = companyRef(rows)
      const { id, alias, commission_percentage, sandbox, registers_sales = false, secrets } = event.data
      const doc: StoreObject = {
        id,
        alias,
        enabled: true,
        commission_percentage,
        sandbox,
        registers_sales,
        has_access_token: false,
        has_notification_secret: false,
        connection: null,
        ...presence(secrets),
        created_at: event.recorded_at,
        updated_at: event.recorded_at,
      }
      rows.add(stores, { company_id, id, alias, enabled: true, ...stamp(event), doc })
    },
  },
  StoreUpdated: changing((event: EventOf<'StoreUpdated'>) => event.data.changes),
  StoreSecretsReplaced: changing(({ data: { secrets } }: EventOf<'StoreSecretsReplaced'>) => ({
    ...presence(secrets),
    ...(secrets.includes('access_token') && { connection: null }),
  })),
  StoreConnected: changing(({ data: { account_id, expires_at } }: EventOf<'StoreConnected'>) => ({
    has_access_token: true,
    connection: { account_id, expires_at, refusal: null },
  })),
  StoreConnectionRenewed: changing(({ data: { expires_at } }: EventOf<'StoreConnectionRenewed'>, { connection }) => ({
    connection: connection && { ...connection, expires_at, refusal: null },
  })),
  StoreConnectionRefused: changing(({ data: { reason } }: EventOf<'StoreConnectionRefused'>, { connection }) => ({
    connection: connection && { ...connection, refusal: reason },
  })),
  StoreEnabled: changing(() => ({ enabled: true })),
  StoreDisabled: changing(() => ({ enabled: false })),
})
