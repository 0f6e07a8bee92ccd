import { mkdir, open, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import * as z from 'zod'
import { ForgetInput, forgetPerson } from '#commands/forget-person.ts'
import { PERSON_KINDS } from '#domain/person-values.ts'
import { type Refusal, refuse, refuseField } from '#domain/refusals.ts'
import { parseSubject } from '#ledger/projection.ts'
import { countMissingKeys, declareKeysLost } from '#ledger/rebuild/replay.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import { type ExportWriter, htmlWriter, jsonWriter } from '#panel/person-file.ts'
import { type ExportedPerson, type ExportPart, exportPersonData } from '#privacy/data-export.ts'
import { companyIdFrom, parseIdArgument, Refused, requireAccepted, type Verbs, validateInput } from './verb.ts'

const KINDS = z.enum(PERSON_KINDS)

/** Years as text: `5y` or `5`. */
const Retention = z.object({
  retention: z
    .string()
    .regex(/^\d{1,3}y?$/, 'must be a number of years, as 5y')
    .transform((text) => Number.parseInt(text, 10))
    .optional(),
})

/** @throws Refused if the subject is no person. */
function personOf(subject: string) {
  const kind = KINDS.safeParse(parseSubject(subject).type)
  if (!kind.success) throw new Refused(refuse('not_found', { subject }))
  return { kind: kind.data, id: parseIdArgument(subject.slice(kind.data.length + 1)) }
}

export const personVerbs: Verbs<'person forget'> = {
  'person forget': {
    async run(context, { company, subject, ground, reason, retention, queue }) {
      const person = personOf(subject)
      const input = validateInput(ForgetInput, { ground, reason, queue: queue === 'true' })
      const { retention: years } = validateInput(Retention, { retention })
      const { core, companyId } = await companyIdFrom(context, company)
      const retention_years = years ?? context.config.RETENTION_YEARS
      const answer: object | null | Refusal = await runAsSystem(core.writer, companyId, forgetPerson, {
        ...person,
        ...input,
        retention_years,
      })
      // A deleted record has no answer.
      return answer === null ? { subject } : requireAccepted(answer)
    },
  },
}

const WHO = 'must be customer/9, supplier/3, user/4 or order/5'

const Flags = z.object({
  subject: z
    .string()
    .regex(/^(customer|supplier|user|order)\/[1-9]\d{0,15}$/, WHO)
    .transform((text): ExportedPerson => {
      const [kind, id] = text.split('/')
      return { kind: kind as ExportedPerson['kind'], id: Number(id) }
    }),
})

export const personExportVerbs: Verbs<'person export'> = {
  'person export': {
    async run(context, { company, subject, to = '.' }) {
      const person = validateInput(Flags, { subject }).subject
      const { core, companyId } = await companyIdFrom(context, company)
      const pieces = await exportPersonData(core, companyId, person, new Date().toISOString())
      if (!pieces) throw new Refused(refuse('not_found', { subject }))
      const folder = resolve(to)
      await mkdir(folder, { recursive: true })
      const path = join(folder, `${person.kind}-${person.id}`)
      await writeAll(pieces, { [`${path}.json`]: jsonWriter(), [`${path}.html`]: htmlWriter() })
      return { json: `${path}.json`, html: `${path}.html` }
    },
  },
}

/** Writes each chunk to all files, with mode 0600, and renames them when complete. */
async function writeAll(
  pieces: AsyncIterable<ExportPart>,
  writers: Readonly<Record<string, ExportWriter>>,
): Promise<void> {
  const files = await Promise.all(
    Object.entries(writers).map(async ([path, write]) => {
      const draft = `${path}.draft`
      await rm(draft, { force: true })
      return { path, draft, write, file: await open(draft, 'wx', 0o600) }
    }),
  )
  try {
    for await (const piece of pieces) for (const { file, write } of files) await file.writeFile(write(piece))
    for (const { path, draft, file } of files) {
      await file.sync()
      await rename(draft, path)
    }
  } finally {
    for (const { draft, file } of files) {
      await file.close()
      await rm(draft, { force: true })
    }
  }
}

const CONFIRM = 'confirm by --yes that the keys are lost: what they sealed stays empty for ever'

const printLine = (line: string): void => {
  process.stderr.write(`${line}\n`)
}

export const lostKeyVerbs: Verbs<'person lost-keys'> = {
  'person lost-keys': {
    async run(context, { company, yes }) {
      const { core, companyId } = await companyIdFrom(context, company)
      const { keys, persons } = await countMissingKeys(core, companyId)
      if (keys > 0) printLine(`ops.person_keys lacks ${keys} keys of ${persons} persons`)
      if (keys > 0 && yes === undefined) throw new Refused(refuseField('yes', CONFIRM))
      const lost_keys = keys > 0 ? await declareKeysLost(core, companyId) : 0
      const takes_writes = await core.unblock(companyId)
      if (!takes_writes)
        printLine('tables of the company no longer match its ledger: run "tillbook projections rebuild"')
      return { company_id: companyId, lost_keys, takes_writes }
    },
    isBad: (result) => !(result as { takes_writes: boolean }).takes_writes,
  },
}
