import type { DataOf, EventOf } from '#events/catalogue.ts'
import { STORE_SECRETS } from '#events/company-events.ts'
import { byKey, byPk, table } from '#ledger/table.ts'
import type { Changes } from '#ledger/working-set.ts'
import { companyRef } from './companies.ts'
import { type ChangedFields, changedColumns, existing, projection, stamp } from './define-projection.ts'

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
