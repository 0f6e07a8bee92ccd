import { RegisterCompanyInput, registerCompany, UpdateCompanyInput, updateCompany } from '#commands/companies.ts'
import { ensureLedger } from '#ledger/ledgers.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import type { CompanyObject } from '#projections/companies.ts'
import type { Core } from '#service/core.ts'
import { accepted, checked, companyOf, given, type Verbs } from './verb.ts'

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
      return register(await context.core(), input)
    },
  },
  'company update': {
    async run(context, { company, ...values }) {
      const input = checked(UpdateCompanyInput, inputOf(values))
      const core = await context.core()
      return accepted(
        await runAsSystem<CompanyObject>(core.writer, await companyOf(core, company), updateCompany, input),
      )
    },
  },
  'company list': {
    async run(context) {
      const { pool } = await context.core()
      const { rows } = await pool.query<{ doc: CompanyObject }>('select doc from read.companies order by company_id')
      return rows.map((row) => row.doc)
    },
  },
}
