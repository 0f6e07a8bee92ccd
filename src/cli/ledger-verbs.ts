import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Pool } from 'pg'
import * as z from 'zod'
import { correctClock } from '#commands/company-commands.ts'
import { Instant } from '#domain/instant.ts'
import { Subject } from '#domain/record-values.ts'
import { refuse, refuseField } from '#domain/refusals.ts'
import type { AsOfMoment } from '#integrity/as-of.ts'
import { auditPack } from '#integrity/audit-pack.ts'
import { claimStore, loadInstallationId } from '#integrity/installation.ts'
import { exportLines } from '#integrity/verify.ts'
import type { Envelope } from '#ledger/command.ts'
import { type OutsideStore, WrongExpectedRevision } from '#ledger/port.ts'
import { CopyDiffers, copyLedgers } from '#ledger/stores/copy-ledgers.ts'
import { createEventStoreDb } from '#ledger/stores/eventstoredb.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import { newId } from '#lib/ids.ts'
import { beginPack } from '#panel/audit-pack-pages.tsx'
import { listHistory } from '#queries/event-queries.ts'
import { fullReader } from '#queries/reader.ts'
import type { Core } from '#service/core.ts'
import {
  companyIdFrom,
  countEvents,
  formatAsText,
  type Progress,
  Refused,
  readerFrom,
  requireAccepted,
  type Verb,
  type Verbs,
  validateInput,
} from './verb.ts'

/** Events per page of a history. */
const PAGE = 200

const SubjectFlag = z.object({ subject: Subject })

const AT = 'must be a revision, or a time with an offset such as "2026-11-21T08:17:15-03:00"'

const AsOfFlags = z.object({
  at: z.union(
    [
      z
        .string()
        .regex(/^\d{1,15}$/)
        .transform((text): AsOfMoment => ({ revision: Number(text) })),
      Instant.transform((time): AsOfMoment => ({ time })),
    ],
    AT,
  ),
})

const historyVerb: Verb<'ledger history'> = {
  async run(context, { company, subject }) {
    const named = validateInput(SubjectFlag, { subject }).subject
    const { core, companyId } = await companyIdFrom(context, company)
    const events: Envelope[] = []
    let cursor: string | null = null
    do {
      const paging = { limit: PAGE, ...(cursor !== null && { cursor }) }
      const page = await listHistory({ ...core, reader: fullReader(core.pool, companyId) }, named, paging)
      if (!page) throw new Refused(refuse('not_found', { subject }))
      const { data, next } = requireAccepted(page)
      events.push(...(JSON.parse(`[${data}]`) as Envelope[]))
      cursor = next
    } while (cursor !== null)
    return events
  },
  show: (result) => formatEvents(result as Envelope[]),
}

/** Omits fields that only the hash chain needs. */
const formatEvents = (events: readonly Envelope[]): string =>
  formatAsText(
    events.map(({ revision, recorded_at, type, origin, actor, data }) => ({
      revision,
      recorded_at,
      type,
      origin,
      actor,
      data,
    })),
  )

const asOfVerb: Verb<'ledger as-of'> = {
  async run(context, { company, at, get }) {
    const moment = validateInput(AsOfFlags, { at }).at
    const { core, companyId } = await companyIdFrom(context, company)
    // Loads the API.
    const { readPast } = await import('#api/read-as-of.ts')
    const { body } = requireAccepted(await readPast(core, companyId, moment, get))
    return JSON.parse(String(body)) as object
  },
  show: (answer) => JSON.stringify(answer, null, 2),
}

export const ledgerReadVerbs: Verbs<'ledger history' | 'ledger as-of'> = {
  'ledger history': historyVerb,
  'ledger as-of': asOfVerb,
}

const exportVerb: Verb<'ledger export'> = {
  async run(context, { company, from = '0' }) {
    if (!/^(0|[1-9]\d{0,14})$/.test(from)) throw new Refused(refuseField('from', 'must be a whole number from 0 on'))
    const { companyId, ...reader } = await readerFrom(context, company)
    const lines = exportLines(reader.store, companyId, Number(from))
    context.progress.begin('events', Math.max(0, (await countEvents(reader, companyId)) - Number(from)))
    // On a terminal the events themselves show it.
    const counted = process.stdout.isTTY ? lines : counting(lines, context.progress)
    await pipeline(Readable.from(counted), process.stdout, { end: false }).catch((error: NodeJS.ErrnoException) => {
      // The reader closed the pipe, like `head`.
      if (error.code !== 'EPIPE') throw error
    })
    return undefined
  },
}

async function* counting(lines: AsyncIterable<string>, { add }: Pick<Progress, 'add'>): AsyncGenerator<string> {
  for await (const line of lines) {
    yield line
    add(1)
  }
}

export const ledgerExportVerbs: Verbs<'ledger export'> = { 'ledger export': exportVerb }

/** Tables with due or expiring rows: columns of creation and due time, if present. */
const DUE = [
  { table: 'webhook_deliveries', made: 'created_at', due: 'next_attempt_at' },
  { table: 'webhook_messages', made: 'created_at', due: null },
  { table: 'notifications', made: 'created_at', due: 'next_email_at' },
  { table: 'idempotent_answers', made: 'created_at', due: null },
  { table: 'webhook_secrets', made: null, due: 'switch_at' },
] as const

/** Creation times cannot be in the future; due times are at most a week ahead, the longest retry delay. */
const isCreatedAhead = (column: string) => `${column} > clock_timestamp() + interval '1 minute'`
const isDueAhead = (column: string) => `${column} > clock_timestamp() + interval '8 days'`

/** Resets times that a fast clock set in the future. Returns the number of rows. */
async function resetFutureTimes({ pool }: Core, companyId: number): Promise<number> {
  let rows = 0
  for (const { table, made, due } of DUE) {
    const isAhead = [...(made ? [isCreatedAhead(made)] : []), ...(due ? [isDueAhead(due)] : [])].join(' or ')
    const columns = [made, due].filter((column) => column !== null)
    const sets = columns.map(
      (column) => `${column} = case when ${column} > clock_timestamp() then clock_timestamp() else ${column} end`,
    )
    const { rowCount } = await pool.query(
      `update ops.${table} set ${sets.join(', ')} where company_id = $1 and (${isAhead})`,
      [companyId],
    )
    rows += rowCount ?? 0
  }
  return rows
}

export const ledgerClockVerbs: Verbs<'ledger correct-clock'> = {
  'ledger correct-clock': {
    async run(context, { company }) {
      const { core, companyId } = await companyIdFrom(context, company)
      // Runs before the correction, so that an interrupted command can be repeated.
      const brought_back = await resetFutureTimes(core, companyId)
      requireAccepted(await runAsSystem(core.writer, companyId, correctClock, {}))
      const { rows } = await core.pool.query<{ revision: number; last_recorded_at: string }>(
        'select revision, last_recorded_at from ledgers where company_id = $1',
        [companyId],
      )
      return { company_id: companyId, ...rows[0], brought_back }
    },
  },
}

export const ledgerCopyVerbs: Verbs<'ledger copy'> = {
  'ledger copy': {
    async run(context, { to }) {
      const target = openTarget(to)
      try {
        // Checks the address before anything is opened or copied.
        await target.ping()
        const { pool, store } = await context.core()
        context.progress.begin('events', await countEvents({ pool }))
        const report = await copyLedgers(store, target, { onEvents: context.progress.add })
        await claimTarget(target, pool)
        return report
      } catch (error) {
        throw copyRefusalOf(error) ?? error
      } finally {
        await target.close()
      }
    },
  },
}

/** Claims the target for this installation: its database accepts no other store. */
const claimTarget = async (target: OutsideStore, pool: Pool): Promise<void> =>
  claimStore({ newId, now: () => new Date().toISOString() }, target, await loadInstallationId(pool))

/** @throws Refused */
function openTarget(address: string): OutsideStore {
  try {
    return createEventStoreDb(address)
  } catch {
    // The client's message may contain a password.
    throw new Refused(refuseField('to', 'must be an address such as esdb://host:2113?tls=false'))
  }
}

/** Refusal of a target that the copy leaves unchanged. */
function copyRefusalOf(error: unknown): Refused | null {
  if (error instanceof CopyDiffers) return new Refused(refuseField('to', differs(error)))
  if (error instanceof WrongExpectedRevision)
    return new Refused(refuseField('to', `another process writes to ledger ${error.stream} of the target`))
  return null
}

const differs = ({ stream, revision }: CopyDiffers): string =>
  `the target has another event at revision ${revision} of ledger ${stream}; nothing further was copied`

export const auditPackVerbs: Verbs<'audit pack'> = {
  'audit pack': {
    async run(context, { company, to, opened }) {
      const { core, companyId } = await companyIdFrom(context, company)
      const options = { isOpened: opened === 'true', now: new Date().toISOString() }
      const pack = await beginPack(core, companyId, options)
      const path = resolve(to)
      const draft = `${path}.draft`
      try {
        let counted: number | null = null
        const onProgress = (done: number, total: number) => {
          if (counted === null) context.progress.begin('lines', total)
          context.progress.add(done - (counted ?? 0))
          counted = done
        }
        const stream = auditPack(core, pack, onProgress, new AbortController().signal)
        // Written with mode 0600, and renamed when complete.
        await pipeline(stream, createWriteStream(draft, { mode: 0o600, flush: true }))
        await rename(draft, path)
      } finally {
        await rm(draft, { force: true })
      }
      const { head, covered } = pack
      return { file: path, events: head.revision + 1, covered: covered ?? 0, hash: head.hash }
    },
  },
}
