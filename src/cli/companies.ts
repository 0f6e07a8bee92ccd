import { RegisterCompanyInput, registerCompany, UpdateCompanyInput, updateCompany } from '#commands/companies.ts'
import { refuse } from '#domain/refusal.ts'
import { ensureLedger } from '#ledger/ledgers.ts'
import { inTransaction } from '#ledger/transaction.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import type { CompanyObject } from '#projections/companies.ts'
import type { Core } from '#service/core.ts'
import { accepted, checked, companyOf, given, Refused, type Verbs } from './verb.ts'

interface Fields {
  readonly name?: string | undefined
  readonly cnpj?: string | undefined
  readonly plan?: string | undefined
  readonly timezone?: string | undefined
  readonly 'logo-url'?: string | undefined
  readonly 'state-registration'?: string | undefined
  readonly 'tax-regime'?: string | undefined
}

/** What may be missing is removed by an empty value. */
const orNone = (value: string | undefined) => (value === '' ? null : value)

const inputOf = ({ name, cnpj, plan, timezone, ...optional }: Fields) =>
  given({
    name,
    cnpj,
    plan,
    timezone,
    logo_url: orNone(optional['logo-url']),
    state_registration: orNone(optional['state-registration']),
    tax_regime: orNone(optional['tax-regime']),
  })

/**
 * Does what gives a company its CNPJ, unless another company has that and this one has not: several have one only where the
 * operator says so (OPS-29). @throws Refused
 */
async function withCnpj<T>(
  { pool }: Core,
  {
    id,
    cnpj,
    isAllowed,
  }: { readonly id: number | null; readonly cnpj: string | undefined; readonly isAllowed: boolean },
  work: () => Promise<T>,
): Promise<T> {
  if (cnpj === undefined || isAllowed) return work()
  return inTransaction(pool, async (tx) => {
    // Of two operators at once, the second waits for what the first one does, and then sees it.
    await tx.query({ name: 'lock_cnpj', text: 'select pg_advisory_xact_lock(hashtextextended($1, 0))' }, [cnpj])
    const { rows } = await tx.query<{ company_id: number }>(
      {
        name: 'find_cnpj',
        text: `select min(company_id) as company_id from companies
               where cnpj = $1 having count(*) filter (where company_id = $2) = 0 and count(*) > 0`,
      },
      [cnpj, id],
    )
    const [other] = rows
    if (other) throw new Refused(refuse('duplicate_resource', { field: 'cnpj', conflicting_id: other.company_id }))
    return work()
  })
}

const RegistrationFields = RegisterCompanyInput.omit({ id: true })

/** Takes an id and makes the company's ledger, in which its registration is the first event. */
export async function register(core: Core, input: Omit<RegisterCompanyInput, 'id'>): Promise<CompanyObject> {
  const { rows } = await core.pool.query<{ id: number }>(`select nextval('ops.company_ids') as id`)
  const { id } = rows[0] as { id: number }
  await ensureLedger(core.pool, id)
  return accepted(
    await runAsSystem<CompanyObject, RegisterCompanyInput>(core.writer, id, registerCompany, { id, ...input }),
  )
}

export const verbs: Verbs<'company'> = {
  'company create': {
    async run(context, values) {
      const input = checked(RegistrationFields, inputOf(values))
      const core = await context.core()
      const isAllowed = values['allow-same-cnpj'] !== undefined
      return withCnpj(core, { id: null, cnpj: input.cnpj, isAllowed }, () => register(core, input))
    },
  },
  'company update': {
    async run(context, { company, ...values }) {
      const input = checked(UpdateCompanyInput, inputOf(values))
      const core = await context.core()
      const id = await companyOf(core, company)
      const isAllowed = values['allow-same-cnpj'] !== undefined
      return withCnpj(core, { id, cnpj: input.cnpj, isAllowed }, async () =>
        accepted(await runAsSystem<CompanyObject>(core.writer, id, updateCompany, input)),
      )
    },
  },
  'company list': {
    async run(context) {
      const { pool } = await context.core()
      const { rows } = await pool.query<{ doc: CompanyObject }>('select doc from companies order by company_id')
      return rows.map((row) => row.doc)
    },
  },
}
