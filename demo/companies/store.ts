import { randomBytes } from 'node:crypto'
import { CreateStoreInput, createStore } from '#commands/stores/create-store.ts'
import { isRefusal } from '#ledger/command.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import type { StoreObject } from '#projections/stores.ts'
import type { Core } from '#service/core.ts'
import type { DemoCompany } from './companies.ts'
import type { DemoAccess } from './file.ts'

const SECRET_BYTES = 24

const newSecret = (): string => randomBytes(SECRET_BYTES).toString('base64url')

/** The online store of a demonstration company, opened when it has none that signs its notifications. */
export async function ensureStore(
  core: Core,
  companyId: number,
  wanted: DemoCompany['store'],
): Promise<DemoAccess['store']> {
  if (!wanted) return null
  const known = await knownStore(core, companyId)
  if (known) return known
  // Somebody else's store may have the alias already: the company's number makes another of it.
  for (const alias of [wanted.alias, `${wanted.alias}-${companyId}`]) {
    const notification_secret = newSecret()
    // Only the sandbox provider takes this token.
    const secrets = { access_token: `TEST-${newSecret()}`, notification_secret }
    const input = CreateStoreInput.parse({ ...wanted, alias, sandbox: true, ...secrets })
    const created = await runAsSystem<StoreObject, CreateStoreInput>(core.writer, companyId, createStore, input)
    if (!isRefusal(created)) return { alias, notification_secret }
    if (created.refused !== 'duplicate_resource')
      throw new Error(`a demonstration store was refused: ${created.refused}`)
  }
  throw new Error(`no alias is left for a demonstration store of company ${companyId}`)
}

/** The first sandbox of the company; a production store is nobody's to be shown. */
async function knownStore({ pool }: Core, companyId: number): Promise<DemoAccess['store']> {
  const { rows } = await pool.query<{ alias: string; notification_secret: string }>(
    `select k.alias, k.notification_secret
     from ops.store_secrets k join read.stores s on s.company_id = k.company_id and s.id = k.store_id
     where k.company_id = $1 and (s.doc->>'sandbox')::boolean and k.notification_secret is not null
     order by s.id limit 1`,
    [companyId],
  )
  return rows[0] ?? null
}
