import { RegisterCompanyInput, registerCompany, UpdateCompanyInput, updateCompany } from '#commands/company-commands.ts'
import { FiscalDocumentFields, recordFiscalDocument } from '#commands/fiscal-document-commands.ts'
import { createPaymentType, USUAL_PAYMENT_TYPES } from '#commands/payment-type-commands.ts'
import { refuse } from '#domain/refusals.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import { inTransaction } from '#postgres/transaction.ts'
import type { CompanyObject } from '#projections/companies.ts'
import type { SaleObject } from '#projections/sales.ts'
import type { Core } from '#service/core.ts'
import {
  accepted,
  type Context,
  companyIdFrom,
  givenFlags,
  parseIdArgument,
  Refused,
  type Verbs,
  validateInput,
} from './verb.ts'

interface Fields {
  readonly name?: string | undefined
  readonly cnpj?: string | undefined
  readonly plan?: string | undefined
  readonly timezone?: string | undefined
  readonly 'logo-url'?: string | undefined
  readonly 'state-registration'?: string | undefined
  readonly 'tax-regime'?: string | undefined
  readonly address?: string | undefined
  readonly phone?: string | undefined
  readonly 'brand-color'?: string | undefined
}

/** An empty value removes an optional field. */
const orNone = (value: string | undefined) => (value === '' ? null : value)

const inputOf = ({ name, cnpj, plan, timezone, ...optional }: Fields) =>
  givenFlags({
    name,
    cnpj,
    plan,
    timezone,
    logo_url: orNone(optional['logo-url']),
    state_registration: orNone(optional['state-registration']),
    tax_regime: orNone(optional['tax-regime']),
    address: orNone(optional.address),
    phone: orNone(optional.phone),
    brand_color: orNone(optional['brand-color']),
  })

/**
 * Runs `work`, which assigns a CNPJ to a real company, unless another company has the same. The operator must allow several
 * companies with one CNPJ explicitly (OPS-29). @throws Refused
 */
async function withCnpj<T>(
  context: Context,
  {
    id,
    cnpj,
    isAllowed,
  }: { readonly id: number | null; readonly cnpj: string | undefined; readonly isAllowed: boolean },
  work: () => Promise<T>,
): Promise<T> {
  if (cnpj === undefined || isAllowed) return work()
  const { pool } = await context.core()
  return inTransaction(pool, async (tx) => {
    // Serializes concurrent operators: the second waits for the first and sees its result.
    await tx.query({ name: 'lock_cnpj', text: 'select pg_advisory_xact_lock(hashtextextended($1, 0))' }, [cnpj])
    const { rows } = await pool.query<{ company_id: number }>({
      name: 'find_cnpj',
      text: 'select company_id from companies where cnpj = $1 and not is_test',
      values: [cnpj],
    })
    const holders = rows.map(({ company_id }) => company_id)
    if (holders.length > 0 && !holders.includes(id ?? 0))
      throw new Refused(refuse('duplicate_resource', { field: 'cnpj', conflicting_id: Math.min(...holders) }))
    return work()
  })
}

const RegistrationFields = RegisterCompanyInput.omit({ id: true })

/** Creates the company's ledger with its registration as the first event, and the usual payment types. */
async function register(
  { pool, writer, found }: Core,
  input: Omit<RegisterCompanyInput, 'id'>,
  hasPaymentTypes: boolean,
): Promise<CompanyObject> {
  const { rows } = await pool.query<{ id: number }>(`select nextval('ops.company_ids') as id`)
  const { id } = rows[0] as { id: number }
  await found(id)
  const company = accepted(
    await runAsSystem<CompanyObject, RegisterCompanyInput>(writer, id, registerCompany, { id, ...input }),
  )
  for (const paymentType of hasPaymentTypes ? USUAL_PAYMENT_TYPES : [])
    accepted(await runAsSystem(writer, id, createPaymentType, paymentType))
  return company
}

export const companyVerbs: Verbs<'company create' | 'company update'> = {
  'company create': {
    async run(context, values) {
      const isTest = values.test !== undefined
      const input = validateInput(RegistrationFields, { ...inputOf(values), ...(isTest && { test: true }) })
      const isAllowed = isTest || values['allow-same-cnpj'] !== undefined
      return withCnpj(context, { id: null, cnpj: input.cnpj, isAllowed }, async () =>
        register(await context.core(), input, values['without-payment-types'] === undefined),
      )
    },
  },
  'company update': {
    async run(context, { company, ...values }) {
      const input = validateInput(UpdateCompanyInput, inputOf(values))
      const { core, companyId: id } = await companyIdFrom(context, company)
      const isAllowed = values['allow-same-cnpj'] !== undefined
      return withCnpj(context, { id, cnpj: input.cnpj, isAllowed }, async () =>
        accepted(await runAsSystem<CompanyObject>(core.writer, id, updateCompany, input)),
      )
    },
  },
}

export const saleVerbs: Verbs<'sale'> = {
  'sale fiscal-document': {
    async run(context, { company, sale, ...flags }) {
      const document = Object.entries(givenFlags(flags)).map(([flag, value]) => [flag.replaceAll('-', '_'), value])
      const id = parseIdArgument(sale)
      const input = { ...validateInput(FiscalDocumentFields, Object.fromEntries(document)), id }
      const { core, companyId } = await companyIdFrom(context, company)
      return accepted(await runAsSystem<SaleObject>(core.writer, companyId, recordFiscalDocument, input))
    },
  },
}
