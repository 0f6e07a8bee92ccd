import { randomBytes } from 'node:crypto'
import { mkdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import * as z from 'zod'
import { hashKey, KEY_BYTES, modeOf, newKey } from '#access/api-authenticator.ts'
import { hashPassword, verifyPassword } from '#access/passwords.ts'
import { createApiKey, revokeApiKey } from '#commands/api-key-commands.ts'
import { CreateStoreInput, createStore } from '#commands/store-commands.ts'
import { changePassword } from '#commands/user-commands.ts'
import { type Config, WrongSetting } from '#config/config.ts'
import { parseScopes } from '#domain/rights.ts'
import { isRefusal } from '#ledger/command.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import { writeFileAtomically } from '#lib/files.ts'
import type { StoreObject } from '#projections/stores.ts'
import type { UserObject } from '#projections/users.ts'
import { fullReader } from '#queries/reader.ts'
import { findStore, listStores } from '#queries/store-queries.ts'
import type { Core } from '#service/core.ts'
import type { DemoCompany } from './demo-companies.ts'

const access = z.object({
  id: z.number(),
  name: z.string(),
  /** Has all scopes. */
  api_key: z.string(),
  read_only_key: z.string(),
  user: z.object({ email: z.string(), password: z.string() }),
  /** Signing secret of its notifications; null without a store. */
  store: z.object({ alias: z.string(), notification_secret: z.string() }).nullable(),
})

const file = z.object({ base_url: z.string(), companies: z.array(access) })

/** Credentials of a demonstration company. */
export type DemoAccess = z.infer<typeof access>

/** demo.json: the only place with these keys and passwords in clear (OPS-3). */
export type DemoFile = z.infer<typeof file>

/** Content of the file; null if it is missing or invalid. */
export async function readDemoFile(path: string): Promise<DemoFile | null> {
  try {
    return file.parse(JSON.parse(await readFile(path, 'utf8')))
  } catch {
    return null
  }
}

/** First demonstration company. @throws WrongSetting if DATA_DIR has no demonstration data. */
export async function demoCompany({ DATA_DIR }: Pick<Config, 'DATA_DIR'>): Promise<DemoAccess> {
  const path = join(DATA_DIR, 'demo.json')
  const company = (await readDemoFile(path))?.companies[0]
  if (!company)
    throw new WrongSetting(`DATA_DIR should be that of a service with demo data (npm start): ${path} not found`)
  return company
}

/** Writes the file, and creates its folder if needed. */
export async function writeDemoFile(path: string, content: DemoFile): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await writeFileAtomically(path, `${JSON.stringify(content, null, 2)}\n`)
}

const PASSWORD_BYTES = 12

const KEYS = {
  api_key: { name: 'Demonstração', scopes: parseScopes('all') ?? [] },
  read_only_key: { name: 'Demonstração (somente leitura)', scopes: parseScopes('read') ?? [] },
} as const

/**
 * Keys and password of a demonstration company. Those of `known` are kept while they work. Others are replaced, because
 * demo.json is the only copy.
 */
export async function ensureAccess(
  core: Core,
  companyId: number,
  demo: DemoCompany,
  known: DemoAccess | undefined,
): Promise<DemoAccess> {
  const { email } = demo.user
  const { rows } = await core.pool.query<{ name: string }>(
    `select doc->>'name' as name from companies where company_id = $1`,
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
  const { key, prefix, hash } = newKey(randomBytes(KEY_BYTES), modeOf(true))
  const created = await runAsSystem<object>(core.writer, companyId, createApiKey, {
    name,
    scopes: [...scopes],
    prefix,
    hash,
  })
  if (!isRefusal(created)) return key
  // The limit of five active keys is used up by other keys, which a user created on purpose.
  if (known !== undefined) return known
  throw new Error(`demo: no key can be created for company ${companyId} (${created.refused}); revoke one of its keys`)
}

async function liveKeys({ pool }: Core, companyId: number, name: string) {
  const { rows } = await pool.query<{ id: number; hash: Buffer }>(
    `select k.id, s.hash
     from api_keys k join ops.api_key_secrets s on s.company_id = k.company_id and s.api_key_id = k.id
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
  const { rows } = await pool.query<{ id: number; password_hash: string | null }>(
    `select u.id, p.password_hash from users u left join ops.persons p on p.email = u.email
     where u.company_id = $1 and u.email = $2`,
    [companyId, email],
  )
  if (!rows[0]) throw new Error(`demo: user ${email} not found`)
  const { id, password_hash } = rows[0]
  if (known !== undefined && (await verifyPassword(password_hash, known))) return known
  const password = randomBytes(PASSWORD_BYTES).toString('base64url')
  const input = { id, password_hash: await hashPassword(password) }
  const changed = await runAsSystem<UserObject>(writer, companyId, changePassword, input)
  if (isRefusal(changed)) throw new Error(`demo: password of ${email} not changed: ${changed.refused}`)
  return password
}

const SECRET_BYTES = 24

const newSecret = (): string => randomBytes(SECRET_BYTES).toString('base64url')

/** Online store of a demonstration company; created if it has no sandbox store with a notification secret. */
async function ensureStore(core: Core, companyId: number, wanted: DemoCompany['store']): Promise<DemoAccess['store']> {
  if (!wanted) return null
  const known = await knownStore(core, companyId)
  if (known) return known
  // Another company may use the alias: the second try appends the company id.
  for (const alias of [wanted.alias, `${wanted.alias}-${companyId}`]) {
    const notification_secret = newSecret()
    // Valid at the sandbox provider only.
    const secrets = { access_token: `TEST-${newSecret()}`, notification_secret }
    const input = CreateStoreInput.parse({ ...wanted, alias, sandbox: true, ...secrets })
    const created = await runAsSystem<StoreObject, CreateStoreInput>(core.writer, companyId, createStore, input)
    if (!isRefusal(created)) return { alias, notification_secret }
    if (created.refused !== 'duplicate_resource') throw new Error(`demo: store refused: ${created.refused}`)
  }
  throw new Error(`demo: aliases for a store of company ${companyId} are all taken`)
}

/** The company's first sandbox store with a secret. Production stores are never shown. */
async function knownStore({ pool, vault }: Core, companyId: number): Promise<DemoAccess['store']> {
  for (const { alias, sandbox } of await listStores(fullReader(pool, companyId))) {
    const store = sandbox ? await findStore(pool, vault, alias) : null
    if (store?.notificationSecret) return { alias, notification_secret: store.notificationSecret }
  }
  return null
}
