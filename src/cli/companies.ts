import { RegisterCompanyInput, registerCompany, UpdateCompanyInput, updateCompany } from '#commands/companies.ts'
import { PLANS } from '#events/companies.ts'
import { ensureLedger } from '#ledger/ledgers.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import type { CompanyObject } from '#projections/companies.ts'
import type { Core } from '#service/core.ts'
import { accepted, checked, companyOf, given, optional, required, verb } from './verb.ts'

const fields = {
  plan: optional(PLANS.join('|')),
  timezone: optional('ZONE'),
  'logo-url': optional('URL'),
}

interface Fields {
  readonly name?: string | undefined
  readonly cnpj?: string | undefined
  readonly plan?: string | undefined
  readonly timezone?: string | undefined
  readonly 'logo-url'?: string | undefined
}

/** An empty logo removes it. */
const inputOf = ({ name, cnpj, plan, timezone, 'logo-url': logo }: Fields) =>
  given({ name, cnpj, plan, timezone, logo_url: logo === '' ? null : logo })

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

export const companyVerbs = {
  create: verb({
    summary: 'registers a company; the plan "api" includes the integration API',
    flags: { name: required('NAME'), cnpj: required('CNPJ'), ...fields },
    async run(context, values) {
      const input = checked(RegistrationFields, inputOf(values))
      return register(await context.core(), input)
    },
  }),
  update: verb({
    summary: 'changes what is given; an empty --logo-url= removes the logo',
    flags: { company: required('ID'), name: optional('NAME'), cnpj: optional('CNPJ'), ...fields },
    positional: 'company',
    async run(context, { company, ...values }) {
      const input = checked(UpdateCompanyInput, inputOf(values))
      const core = await context.core()
      return accepted(
        await runAsSystem<CompanyObject>(core.writer, await companyOf(core, company), updateCompany, input),
      )
    },
  }),
  list: verb({
    summary: 'lists the companies',
    flags: {},
    async run(context) {
      const { pool } = await context.core()
      const { rows } = await pool.query<{ doc: CompanyObject }>('select doc from read.companies order by company_id')
      return rows.map((row) => row.doc)
    },
  }),
}
