import { createWriteStream } from 'node:fs'
import { mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import {
  RegisterCompanyInput,
  RestoreInput,
  registerCompany,
  UpdateCompanyInput,
  updateCompany,
} from '#commands/company-commands.ts'
import { FiscalDocumentFields, recordFiscalDocument } from '#commands/fiscal-document-commands.ts'
import { createPaymentType, USUAL_PAYMENT_TYPES } from '#commands/store-commands.ts'
import { loadMasterKeys } from '#crypto/master-keys.ts'
import { refuse, refuseField } from '#domain/refusals.ts'
import type { CellParts } from '#integrity/company-file.ts'
import { type ImportReport, importCompany } from '#integrity/import-company.ts'
import { type ExportReport, exportCompany, removeCompany, reopenCompany } from '#integrity/move-company.ts'
import { nextCompanyId } from '#ledger/ledgers.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import { newId } from '#lib/ids.ts'
import { inTransaction } from '#postgres/transaction.ts'
import type { CompanyObject } from '#projections/companies.ts'
import type { SaleObject } from '#projections/sales.ts'
import type { Core } from '#service/core.ts'
import { requireSealing } from './ledger-seal-verbs.ts'
import {
  type Context,
  companyIdFrom,
  countEvents,
  givenFlags,
  parseIdArgument,
  Refused,
  requireAccepted,
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
  readonly 'voucher-days'?: string | undefined
}

/** An empty value removes an optional field. */
const orNone = (value: string | undefined) => (value === '' ? null : value)

const numberOrNone = (value: string | undefined) => (value ? Number(value) : value === '' ? null : undefined)

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
    voucher_days: numberOrNone(optional['voucher-days']),
  })

/**
 * Runs `work`, which assigns a CNPJ to a real company, unless another company has the same. The operator must allow several
 * companies with one CNPJ explicitly. @throws Refused
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
  const id = await nextCompanyId(pool)
  await found(id)
  const company = requireAccepted(
    await runAsSystem<CompanyObject, RegisterCompanyInput>(writer, id, registerCompany, { id, ...input }),
  )
  for (const paymentType of hasPaymentTypes ? USUAL_PAYMENT_TYPES : [])
    requireAccepted(await runAsSystem(writer, id, createPaymentType, paymentType))
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
        requireAccepted(await runAsSystem<CompanyObject>(core.writer, id, updateCompany, input)),
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
      return requireAccepted(await runAsSystem<SaleObject>(core.writer, companyId, recordFiscalDocument, input))
    },
  },
}

async function cellOf(context: Context): Promise<CellParts> {
  const core = await context.core()
  const { databaseUrl } = await context.addresses()
  const masterKey = loadMasterKeys(context.config).current().id
  return { ...core, databaseUrl, masterKey, sealing: requireSealing(core) }
}

/** Writes the file under another name first, readable by its owner only. */
async function toFile<T>(path: string, work: (out: Writable) => Promise<T>): Promise<T> {
  const draft = `${path}.draft`
  await rm(draft, { force: true })
  const out = createWriteStream(draft, { mode: 0o600, flags: 'wx', flush: true })
  try {
    const result = await work(out)
    await finished(out.end())
    await rename(draft, path)
    return result
  } finally {
    out.destroy()
    await rm(draft, { force: true })
  }
}

/** A file of standard input, which is read twice. */
async function withInput<T>(from: string | undefined, work: (path: string) => Promise<T>): Promise<T> {
  if (from !== undefined) return work(from)
  const folder = await mkdtemp(join(tmpdir(), 'tillbook-import-'))
  try {
    const path = join(folder, 'company.jsonl')
    await pipeline(process.stdin, createWriteStream(path, { mode: 0o600 }))
    return await work(path)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const Reason = RestoreInput.pick({ reason: true })

/** @throws Refused if the file cannot be read */
const readNote = (path: string): Promise<string> =>
  readFile(path, 'utf8').catch((error: Error) => {
    throw new Refused(refuseField('note', error.message))
  })

export const cellVerbs: Verbs<'company export' | 'company import' | 'company remove' | 'company reopen'> = {
  'company export': {
    async run(context, { company, to }) {
      const companyId = parseIdArgument(company)
      const cell = await cellOf(context)
      const { progress } = context
      progress.begin('events', await countEvents(cell, companyId))
      const work = (out: Writable): Promise<ExportReport> => {
        const write = promisify<string, void>(out.write.bind(out))
        return exportCompany(cell, companyId, { newId, write, onEvents: progress.add })
      }
      if (to !== undefined) return toFile(to, work)
      const { events, rows } = await work(process.stdout)
      progress.tell(`company ${companyId} is closed here; exported ${events} events and ${rows} rows`)
      return undefined
    },
  },
  'company import': {
    async run(context, { from, ...flags }) {
      const cell = await cellOf(context)
      const { progress } = context
      const now = () => new Date().toISOString()
      const allowsSameCnpj = flags['allow-same-cnpj'] !== undefined
      progress.begin('events', null)
      const report = await withInput(from, (path) =>
        importCompany(cell, path, { allowsSameCnpj, now, onEvents: progress.add }),
      )
      const core = await context.core()
      core.deliveryNotifier.notify()
      progress.tell(`company ${report.company_id} is open here: ${report.events} events; verifying its tables`)
      const verified = await core.verifyTables(report.company_id)
      return { ...report, differences: verified.kind === 'verified' ? verified.differences : [] }
    },
    // The note alone, to be kept in a file.
    show: (report) => (report as ImportReport).note.trimEnd(),
    isBad: (report) => (report as { readonly differences: readonly unknown[] }).differences.length > 0,
  },
  'company remove': {
    async run(context, { company, note }) {
      const companyId = parseIdArgument(company)
      const text = await readNote(note)
      await removeCompany(await cellOf(context), companyId, text, context.progress.tell)
      return { company_id: companyId, removed: true }
    },
  },
  'company reopen': {
    async run(context, { company, ...flags }) {
      const companyId = parseIdArgument(company)
      const { reason } = validateInput(Reason, { reason: flags.reason })
      await reopenCompany(await cellOf(context), companyId, reason)
      return { company_id: companyId, reopened: true, reason }
    },
  },
}
