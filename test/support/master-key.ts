import type { Pool } from 'pg'
import { configuredMasterKeys } from '#crypto/master-keys.ts'
import { createVault, openJson, SEALED_COLUMNS, type Vault } from '#crypto/vault.ts'
import { createPersonKeys, type PersonKeys } from '#ledger/sealed-fields.ts'

const SECRET = Buffer.alloc(32, 'tillbook tests')

/** Master key of all test services, as in the environment. */
export const MASTER_KEY = SECRET.toString('base64')

export const masterKeys = configuredMasterKeys([SECRET], 'MASTER_KEY')

export const vault = createVault(masterKeys)

/** Rows of a table of `ops` in key order, with sealed values opened and without the id of the master key. */
export async function openedRows(
  pool: Pool,
  table: 'webhook_secrets' | 'store_secrets' | 'installation_secrets',
  by: Vault = vault,
) {
  const { column, pk, contextOf } = SEALED_COLUMNS.find((each) => each.table === table)!
  const { rows } = await pool.query(`select * from ops.${table} order by ${pk.join(', ')}`)
  return rows.map(({ master_key_id: _, [column]: sealed, ...row }) => {
    const context = contextOf(pk.map((name) => row[name]))
    return { ...row, [column]: sealed && openJson(by, sealed, context) }
  })
}

/** Keys of persons in a database, as the services have them that tests start. */
export const keysIn = (pool: Pool): PersonKeys => createPersonKeys(pool, vault)
