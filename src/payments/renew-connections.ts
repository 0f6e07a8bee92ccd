import type { Pool } from 'pg'
import { recordsEvents } from '#background/records-events.ts'
import { type Repetition, repeat } from '#background/repeat.ts'
import { refuseStoreConnection, renewStoreConnection } from '#commands/store-connection.ts'
import { contextOf, openJson } from '#crypto/sealed-json.ts'
import type { Vault } from '#crypto/vault.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import type { Writer } from '#ledger/write/writer.ts'
import { type StoreSecrets, storeSecrets } from '#projections/stores.ts'
import { ConnectionRefused, type ProviderConnector } from './provider-connector.ts'

const EVERY_MS = 300_000
/** Connections of a run. */
const BATCH = 32
/** Until a renewal that failed is repeated; a renewal that is under way is not repeated before. */
const REPEAT_HOURS = 1

export interface RenewalOptions {
  readonly pool: Pool
  readonly vault: Vault
  readonly writer: Writer
  readonly connector: ProviderConnector
  readonly log: (message: string, error: unknown) => void
}

/** Renews access tokens of connected stores before they end (PAY-82). Any number of processes share the work. */
export const startRenewals = (options: RenewalOptions, every_ms = EVERY_MS): Repetition =>
  repeat(
    (stopping) => renewConnections(options, stopping),
    every_ms,
    (error) => options.log('payments: renewal of connections failed', error),
  )

interface DueRow {
  readonly company_id: number
  readonly store_id: number
  readonly alias: string
  readonly secrets: Buffer
}

/** Renews the connections that are due, one after the other. */
export async function renewConnections(options: RenewalOptions, stopping?: AbortSignal): Promise<void> {
  const { rows } = await options.pool.query<DueRow>(
    `update ops.store_secrets set renew_at = clock_timestamp() + make_interval(hours => $2)
     where (company_id, store_id) in (
       select company_id, store_id from ops.store_secrets
       where renew_at <= clock_timestamp() and secrets is not null and ${recordsEvents('company_id')}
       order by renew_at limit $1 for update skip locked)
     returning company_id, store_id, alias, secrets`,
    [BATCH, REPEAT_HOURS],
  )
  for (const row of rows) {
    if (stopping?.aborted) return
    await renew(options, row).catch((error: unknown) =>
      options.log(`payments: connection of store ${row.alias} was not renewed`, error),
    )
  }
}

async function renew({ vault, writer, connector, log }: RenewalOptions, row: DueRow): Promise<void> {
  const { company_id, store_id, alias } = row
  const context = contextOf(storeSecrets.name, [company_id, store_id])
  const { refresh_token: used } = openJson<StoreSecrets['secrets']>(vault, row.secrets, context)
  if (used === undefined) return
  try {
    const { accessToken, refreshToken, expiresAt } = await connector.renew(used)
    const tokens = { access_token: accessToken, refresh_token: refreshToken, expires_at: expiresAt }
    await runAsSystem(writer, company_id, renewStoreConnection, { alias, used, ...tokens })
  } catch (error) {
    if (!(error instanceof ConnectionRefused) || error.isOfService) throw error
    log(`payments: provider refused to renew the connection of store ${alias}`, error)
    await runAsSystem(writer, company_id, refuseStoreConnection, { alias, used, reason: error.reason })
  }
}
