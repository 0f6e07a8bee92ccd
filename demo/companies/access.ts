import { randomBytes } from 'node:crypto'
import { hashKey, KEY_BYTES, newKey } from '#access/api-keys.ts'
import { hashPassword, verifyPassword } from '#access/passwords.ts'
import { createApiKey } from '#commands/api-keys/create-api-key.ts'
import { revokeApiKey } from '#commands/api-keys/revoke-api-key.ts'
import { changePassword } from '#commands/users/change-password.ts'
import { parseScopes } from '#domain/scopes.ts'
import { isRefusal } from '#ledger/command.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import type { UserObject } from '#projections/users.ts'
import type { Core } from '#service/core.ts'
import type { DemoCompany } from './companies.ts'
import type { DemoAccess } from './file.ts'
import { ensureStore } from './store.ts'

const PASSWORD_BYTES = 12

const KEYS = {
  api_key: { name: 'Demonstração', scopes: parseScopes('all') ?? [] },
  read_only_key: { name: 'Demonstração (somente leitura)', scopes: parseScopes('read') ?? [] },
} as const

/**
 * Keys and password of a demonstration company: those of `known` as far as they still work, new ones otherwise, since
 * what demo.json does not tell, nobody knows.
 */
export async function ensureAccess(
  core: Core,
  companyId: number,
  demo: DemoCompany,
  known: DemoAccess | undefined,
): Promise<DemoAccess> {
  const { email } = demo.user
  const { rows } = await core.pool.query<{ name: string }>(
    `select doc->>'name' as name from read.companies where company_id = $1`,
    [companyId],
  )
  return {
    id: companyId,
    name: rows[0]?.name ?? '',
    api_key: await ensureKey(core, companyId, 'api_key', known?.api_key),
    read_only_key: await ensureKey(core, companyId, 'read_only_key', known?.read_only_key),
    user: { email, password: await ensurePassword(core, companyId, email, known?.user.password) },
    store: await ensureStore(core, companyId, demo.store),
  }
}

async function ensureKey(
  core: Core,
  companyId: number,
  kind: keyof typeof KEYS,
  known: string | undefined,
): Promise<string> {
  const { name, scopes } = KEYS[kind]
  const live = await liveKeys(core, companyId, name)
  if (known !== undefined && live.some(({ hash }) => hash.equals(hashKey(known)))) return known
  for (const { id } of live) await runAsSystem(core.writer, companyId, revokeApiKey, { id })
  const { key, prefix, hash } = newKey(randomBytes(KEY_BYTES), 'test')
  const created = await runAsSystem<object>(core.writer, companyId, createApiKey, {
    name,
    scopes: [...scopes],
    prefix,
    hash,
  })
  if (!isRefusal(created)) return key
  // Its place among the five active keys has been given to another: that was somebody's decision, and stays.
  if (known !== undefined) return known
  throw new Error(
    `No demonstration key can be made for company ${companyId} (${created.refused}): revoke one of its keys.`,
  )
}

async function liveKeys({ pool }: Core, companyId: number, name: string) {
  const { rows } = await pool.query<{ id: number; hash: Buffer }>(
    `select k.id, s.hash
     from read.api_keys k join ops.api_key_secrets s on s.company_id = k.company_id and s.api_key_id = k.id
     where k.company_id = $1 and k.doc->>'name' = $2 and k.revoked_at is null and (k.expires_at is null or k.expires_at > now())
     order by k.id`,
    [companyId, name],
  )
  return rows
}

async function ensurePassword(
  { pool, writer }: Core,
  companyId: number,
  email: string,
  known: string | undefined,
): Promise<string> {
  const { rows } = await pool.query<{ user_id: number; password_hash: string }>(
    'select user_id, password_hash from ops.user_credentials where company_id = $1 and email = $2',
    [companyId, email],
  )
  if (!rows[0]) throw new Error(`demonstration user ${email} has no password`)
  const { user_id: id, password_hash } = rows[0]
  if (known !== undefined && (await verifyPassword(password_hash, known))) return known
  const password = randomBytes(PASSWORD_BYTES).toString('base64url')
  const input = { id, password_hash: await hashPassword(password) }
  const changed = await runAsSystem<UserObject>(writer, companyId, changePassword, input)
  if (isRefusal(changed)) throw new Error(`the password of ${email} cannot be changed: ${changed.refused}`)
  return password
}
