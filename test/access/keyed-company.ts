import { KEY_BYTES, newKey } from '#access/api-authenticator.ts'
import { registerCompany } from '#commands/company-commands.ts'
import { createApiKey } from '#commands/webhook-commands.ts'
import type { DataOf } from '#events/catalogue.ts'
import { ensureLedger } from '#ledger/ledgers.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import type { ApiKeyObject } from '#projections/webhooks.ts'
import type { Core } from '#service/core.ts'
import { companyRegistered } from '../support/facts.ts'

/** Company with API keys, of which the tests need only the hashes. */
export interface KeyedCompany {
  readonly id: number
  readonly hash: Buffer
  readonly keyId: number
  newKey(expiresAt?: string): Promise<{ id: number; hash: Buffer }>
}

let lastId = 0

export async function keyedCompany(
  core: Core,
  fields: Partial<DataOf<'CompanyRegistered'>> = {},
): Promise<KeyedCompany> {
  const id = ++lastId
  await ensureLedger(core.pool, id)
  await runAsSystem(core.writer, id, registerCompany, { ...companyRegistered({ ...fields, id }).data } as never)
  let keys = 0
  const create = async (expires_at: string | null = null) => {
    const random = Buffer.alloc(KEY_BYTES)
    random.writeUInt32BE(id)
    random.writeUInt32BE(++keys, 4)
    const { prefix, hash } = newKey(random, 'test')
    const input = { name: `chave ${keys}`, scopes: ['sales:read' as const], expires_at, prefix, hash }
    const key = (await runAsSystem(core.writer, id, createApiKey, input)) as ApiKeyObject
    return { id: key.id, hash }
  }
  const first = await create()
  return { id, hash: first.hash, keyId: first.id, newKey: create }
}
