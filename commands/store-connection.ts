import * as z from 'zod'
import { Instant } from '#domain/instant.ts'
import { refuse } from '#domain/refusal.ts'
import { boundedText } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import type { Rows } from '#ledger/working-set.ts'
import { type StoreSecrets, storeByAlias, storeSecrets, storeSecretsByAlias } from '#projections/stores.ts'
import { Alias, StoreSecret } from './stores.ts'

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

/** Replaces the access token of a store by one that the owner of an account at the provider granted (PAY-81). */
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
