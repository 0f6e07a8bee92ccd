import * as z from 'zod'
import { Instant } from '#domain/instant.ts'
import { Subject } from '#domain/record-kinds.ts'
import { refuse } from '#domain/refusal.ts'
import type { AsOfMoment } from '#integrity/audit/as-of.ts'
import type { Envelope } from '#ledger/envelope.ts'
import { listHistory } from '#queries/events.ts'
import { fullReader } from '#queries/reader.ts'
import { formatAsText } from './output.ts'
import { accepted, companyIdFrom, Refused, type Verb, type Verbs, validateInput } from './verb.ts'

/** Events per page of a history. */
const PAGE = 200

const SubjectFlag = z.object({ subject: Subject })

const AT = 'deve ser uma revisão do livro ou uma data com hora e fuso, como "2026-11-21T08:17:15-03:00"'

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
      const { data, next } = accepted(page)
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
    const { readAsOf } = await import('#api/read-as-of.ts')
    const { body } = accepted(await readAsOf(core, companyId, moment, get))
    return JSON.parse(String(body)) as object
  },
  show: (answer) => JSON.stringify(answer, null, 2),
}

export const verbs: Verbs<'ledger history' | 'ledger as-of'> = {
  'ledger history': historyVerb,
  'ledger as-of': asOfVerb,
}
