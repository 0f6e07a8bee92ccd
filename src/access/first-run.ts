import { createHash, timingSafeEqual } from 'node:crypto'
import type { Pool } from 'pg'
import * as z from 'zod'
import { type RegisterCompanyInput, registerCompany } from '#commands/company-commands.ts'
import { type CreateUserInput, createUser } from '#commands/user-commands.ts'
import type { Vault } from '#crypto/vault.ts'
import type { Refusal } from '#domain/refusals.ts'
import { boundedText, Email } from '#domain/text.ts'
import { invoke, isRefusal } from '#ledger/command.ts'
import { nextCompanyId } from '#ledger/ledgers.ts'
import { asSystem, runCommands } from '#ledger/write/run.ts'
import type { Writer } from '#ledger/write/writer.ts'
import { inTransaction } from '#postgres/transaction.ts'
import { COMPANY_FIELDS } from '#records/company-settings.ts'
import { installationSecret } from './credentials.ts'
import { hashPassword, Password } from './passwords.ts'

/** The first company of an installation, and its owner. */
export const FirstRunInput = z.strictObject({
  company: COMPANY_FIELDS.name.whole,
  cnpj: COMPANY_FIELDS.cnpj.whole,
  timezone: COMPANY_FIELDS.timezone.whole,
  name: boundedText(120),
  email: Email,
  password: Password,
})
type FirstRunInput = z.infer<typeof FirstRunInput>

interface FirstRunOptions {
  readonly pool: Pool
  readonly vault: Vault
  readonly writer: Writer
  readonly publicUrl: string
  /** Creates the ledger of a new company. @throws Unavailable */
  found(companyId: number): Promise<void>
}

/** Creates the first company of an empty installation, for the holder of a link that its operator has. */
export interface FirstRun {
  /** Null as soon as there is a company, or has been one. */
  link(): Promise<string | null>
  isOpen(code: string): Promise<boolean>
  /** `over`: the code is wrong, or there is a company. */
  create(code: string, input: FirstRunInput, requestId: string): Promise<'created' | 'over' | Refusal>
}

const IS_EMPTY = `select not exists (select from ops.ledgers where revision >= 0)
  and not exists (select from ops.company_moves) and not exists (select from companies) as empty`

/** Two forms at a time: the second one waits, and finds a company. */
const LOCK = {
  name: 'lock_first_run',
  text: `select pg_advisory_xact_lock(hashtextextended('tillbook first run', 0))`,
}

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest()

export function createFirstRun({ pool, vault, writer, found, publicUrl }: FirstRunOptions): FirstRun {
  /** 256 bits, the same in all processes of the database: a restart prints the same link. */
  const makeCode = async () => (await installationSecret(pool, vault, 'first_run')).toString('base64url')

  async function isEmpty(): Promise<boolean> {
    const { rows } = await pool.query<{ empty: boolean }>(IS_EMPTY)
    return rows[0]?.empty === true
  }

  const isOpen = async (code: string): Promise<boolean> =>
    (await isEmpty()) && timingSafeEqual(digestOf(code), digestOf(await makeCode()))

  return {
    link: async () => ((await isEmpty()) ? `${publicUrl}/painel/primeiro-acesso?codigo=${await makeCode()}` : null),
    isOpen,
    async create(code, { company, password, name, email, ...fields }, requestId) {
      const password_hash = await hashPassword(password)
      return inTransaction(pool, async (tx) => {
        await tx.query(LOCK)
        if (!(await isOpen(code))) return 'over'
        const id = await nextCompanyId(pool)
        await found(id)
        const registration: RegisterCompanyInput = { id, name: company, plan: 'basic', ...fields }
        const owner: CreateUserInput = { name, email, role: 'owner', password_hash }
        // One request: a company without its owner could not be entered, and would close the link.
        const answer = await runCommands(
          writer,
          asSystem(id, requestId),
          [invoke(registerCompany, registration), invoke(createUser, owner)],
          { compose: () => ({ outcome: 'created', json: '' }), withoutRecords: true },
        )
        if (isRefusal(answer)) return answer
        const refused = answer.results.find(isRefusal)
        if (refused) throw new Error(`the first company ${id} was made without its owner: ${refused.refused}`)
        return 'created'
      })
    },
  }
}
