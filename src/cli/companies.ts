import { RegisterCompanyInput, registerCompany, UpdateCompanyInput, updateCompany } from '#commands/companies.ts'
import { createPaymentType, USUAL_PAYMENT_TYPES } from '#commands/payment-types.ts'
import { DEFAULT_SHARD } from '#config/databases.ts'
import { invalid, refuse } from '#domain/refusal.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import { inTransaction } from '#postgres/transaction.ts'
import type { CompanyObject } from '#projections/companies.ts'
import type { Core } from '#service/core.ts'
import { emptiestShard } from './shards.ts'
import { accepted, type Context, companyIdFrom, givenFlags, Refused, type Verbs, validateInput } from './verb.ts'

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
 * Runs `work`, which assigns a CNPJ to a real company, unless another company of any shard has the same. The operator
 * must allow several companies with one CNPJ explicitly (OPS-29, SHARD-11). @throws Refused
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
  const shards = await context.shards()
  const { pool } = await context.core()
  return inTransaction(pool, async (tx) => {
    // Serializes concurrent operators: the second waits for the first and sees its result.
    await tx.query({ name: 'lock_cnpj', text: 'select pg_advisory_xact_lock(hashtextextended($1, 0))' }, [cnpj])
    const holders: number[] = []
    for (const { core } of shards) {
      const { rows } = await core.pool.query<{ company_id: number }>({
        name: 'find_cnpj',
        text: 'select company_id from companies where cnpj = $1 and not is_test',
        values: [cnpj],
      })
      holders.push(...rows.map(({ company_id }) => company_id))
    }
    if (holders.length > 0 && !holders.includes(id ?? 0))
      throw new Refused(refuse('duplicate_resource', { field: 'cnpj', conflicting_id: Math.min(...holders) }))
    return work()
  })
}

const RegistrationFields = RegisterCompanyInput.omit({ id: true })

/**
 * Takes an id from the default shard, which counts for all shards, and creates the company's ledger with its
 * registration as the first event, and the usual payment types.
 */
async function register(
  { pool }: Core,
  shard: Core,
  input: Omit<RegisterCompanyInput, 'id'>,
  hasPaymentTypes: boolean,
): Promise<CompanyObject> {
  const { rows } = await pool.query<{ id: number }>(`select nextval('ops.company_ids') as id`)
  const { id } = rows[0] as { id: number }
  await shard.found(id)
  const company = accepted(
    await runAsSystem<CompanyObject, RegisterCompanyInput>(shard.writer, id, registerCompany, { id, ...input }),
  )
  for (const paymentType of hasPaymentTypes ? USUAL_PAYMENT_TYPES : [])
    accepted(await runAsSystem(shard.writer, id, createPaymentType, paymentType))
  return company
}

/** Shard of a new company: the named one, or the emptiest that accepts new companies. @throws Refused */
async function shardForNew(context: Context, named: string | undefined): Promise<string> {
  if (named === undefined) return (context.config.SHARDS && (await emptiestShard(context))) || DEFAULT_SHARD
  const shards = context.config.SHARDS ? await (await context.directory()).shards() : []
  const found = shards.find(({ name }) => name === named)
  if (!found && named !== DEFAULT_SHARD) throw new Refused(refuse('not_found', { shard: named }))
  if (found?.draining) throw new Refused(invalid('shard', 'não recebe mais empresas'))
  return named
}

export const verbs: Verbs<'company create' | 'company update'> = {
  'company create': {
    async run(context, values) {
      const isTest = values.test !== undefined
      const input = validateInput(RegistrationFields, { ...inputOf(values), ...(isTest && { test: true }) })
      const shard = await shardForNew(context, values.shard)
      const isAllowed = isTest || values['allow-same-cnpj'] !== undefined
      return withCnpj(context, { id: null, cnpj: input.cnpj, isAllowed }, async () =>
        register(
          await context.core(),
          await context.core({ shard }),
          input,
          values['without-payment-types'] === undefined,
        ),
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
