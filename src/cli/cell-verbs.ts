import { createWriteStream } from 'node:fs'
import { mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import type { CellParts } from '#cells/cell.ts'
import { type ExportReport, exportCompany } from '#cells/export-company.ts'
import { type ImportReport, importCompany } from '#cells/import-company.ts'
import { removeCompany, reopenCompany } from '#cells/remove-company.ts'
import { RestoreInput } from '#commands/company-commands.ts'
import { loadMasterKeys } from '#crypto/master-keys.ts'
import { invalid } from '#domain/refusals.ts'
import { newId } from '#lib/ids.ts'
import { sealingOf } from './ledger-seal-verbs.ts'
import { type Context, countEvents, parseIdArgument, Refused, type Verbs, validateInput } from './verb.ts'

async function cellOf(context: Context): Promise<CellParts> {
  const core = await context.core()
  const { databaseUrl } = await context.addresses()
  const masterKey = loadMasterKeys(context.config).current().id
  return { ...core, databaseUrl, masterKey, sealing: sealingOf(core) }
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
    throw new Refused(invalid('note', error.message))
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
