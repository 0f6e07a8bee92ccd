import { randomBytes } from 'node:crypto'
import { hashPassword } from '#access/passwords.ts'
import { createCategory } from '#commands/category-commands.ts'
import { registerCompany } from '#commands/company-commands.ts'
import { replaceItem } from '#commands/item-commands.ts'
import { createPaymentType } from '#commands/payment-type-commands.ts'
import { replaceCustomer } from '#commands/person-commands.ts'
import { createUser } from '#commands/user-commands.ts'
import { type Command, isRefusal } from '#ledger/command.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import { withAdvisoryLock } from '#postgres/transaction.ts'
import type { Core } from '#service/core.ts'
import { ensureAccess, readDemoFile, writeDemoFile } from './demo-access.ts'
import { DEMO_COMPANIES, type DemoCompany } from './demo-companies.ts'
import { fillMonth } from './demo-month.ts'

/** Advisory lock: of two processes that start together, the second finds everything done. */
const DEMO_LOCK = 'tillbook demo companies'
/** Below the statement time-out of a pool, one minute. */
const LOCK_WAIT_MS = 50_000

interface SeedOptions {
  readonly baseUrl: string
  readonly demoFile: string
  /** Instant (UTC) until which the first company has sold for a month; it has no sales if absent. */
  readonly soldUntil?: string | undefined
}

/**
 * Creates the demonstration companies once per database, and writes their credentials to demo.json. Each part is
 * created only if missing, so that the next start completes an interrupted one. Does nothing if the database has
 * companies but no seed, as after a rebuild from an event store. Returns whether demo.json is valid.
 */
export function seedDemo(core: Core, { baseUrl, demoFile, soldUntil }: SeedOptions): Promise<boolean> {
  return withAdvisoryLock(core.pool, { key: DEMO_LOCK, wait_ms: LOCK_WAIT_MS }, async (session) => {
    const { rowCount: foreign } = await session.query(
      'select from companies where not exists (select from ops.demo_companies) limit 1',
    )
    if (foreign) return false
    const known = await readDemoFile(demoFile)
    const companies = []
    for (const [index, demo] of DEMO_COMPANIES.entries()) {
      const companyId = await ensureCompany(core, index + 1, demo)
      const access = known?.companies.find((company) => company.id === companyId)
      // It may have moved to another installation.
      const { rowCount: isOpen } = await session.query(
        'select from ops.ledgers where company_id = $1 and closed_at is null',
        [companyId],
      )
      if (!isOpen) {
        if (access) companies.push(access)
        continue
      }
      const ensured = await ensureAccess(core, companyId, demo, access)
      companies.push(ensured)
      if (soldUntil !== undefined && index === 0)
        await fillMonth(core, companyId, { demo, store: ensured.store?.alias ?? null, now: soldUntil })
    }
    await writeDemoFile(demoFile, { base_url: baseUrl, companies })
    return true
  })
}

/** Company at a position of demo.json; its records are created on the first call only. */
async function ensureCompany(core: Core, place: number, demo: DemoCompany): Promise<number> {
  const { pool } = core
  await pool.query(
    `insert into ops.demo_companies (place, company_id) select $1, nextval('ops.company_ids')
     where not exists (select from ops.demo_companies where place = $1)`,
    [place],
  )
  const { rows } = await pool.query<{ company_id: number; seeded: boolean }>(
    'select company_id, seeded_at is not null as seeded from ops.demo_companies where place = $1',
    [place],
  )
  const { company_id: companyId, seeded } = rows[0] as { company_id: number; seeded: boolean }
  if (seeded) return companyId
  await fill(core, companyId, demo)
  await pool.query('update ops.demo_companies set seeded_at = now() where place = $1', [place])
  return companyId
}

async function fill(core: Core, companyId: number, demo: DemoCompany): Promise<void> {
  /** Concurrent, to share a commit; in order, so that ids are in order. */
  const run = <I>(command: Command<I>, inputs: readonly I[]) =>
    Promise.all(inputs.map((input) => accepted(core, companyId, command, input)))
  await core.found(companyId)
  await run(registerCompany, [{ id: companyId, ...demo.company, test: true }])
  const known = await knownNames(core, companyId)
  await run(
    createPaymentType,
    demo.paymentTypes.filter((type) => !known.paymentTypes.has(type.name)),
  )
  await run(
    createCategory,
    demo.categories.filter((category) => !known.categories.has(category.external_id)),
  )
  const { categories, emails } = await knownNames(core, companyId)
  await run(
    replaceItem,
    demo.items.map(({ category = '', ...item }) => ({ ...item, category_id: categories.get(category) ?? null })),
  )
  await run(replaceCustomer, demo.customers)
  if (emails.has(demo.user.email)) return
  // Discarded; ensurePassword sets a password that is written to demo.json.
  const password_hash = await hashPassword(randomBytes(32).toString('base64url'))
  await run(createUser, [{ ...demo.user, role: 'owner', password_hash }])
}

async function accepted<I>({ writer }: Core, companyId: number, command: Command<I>, input: I): Promise<void> {
  const answer = await runAsSystem<object>(writer, companyId, command, input)
  if (isRefusal(answer)) throw new Error(`demo: data refused: ${JSON.stringify(answer)}`)
}

/** Existing records of commands that are not idempotent. */
async function knownNames({ pool }: Core, companyId: number) {
  const [types, categories, users] = await Promise.all([
    pool.query<{ name: string }>(`select doc->>'name' as name from payment_types where company_id = $1`, [companyId]),
    pool.query<{ id: number; external_id: string }>('select id, external_id from categories where company_id = $1', [
      companyId,
    ]),
    pool.query<{ email: string }>(`select doc->>'email' as email from users where company_id = $1`, [companyId]),
  ])
  return {
    paymentTypes: new Set(types.rows.map((row) => row.name)),
    categories: new Map(categories.rows.map((row) => [row.external_id, row.id])),
    emails: new Set(users.rows.map((row) => row.email)),
  }
}
