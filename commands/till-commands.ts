import * as z from 'zod'
import { invalid, refuse } from '#domain/refusals.ts'
import { boundedText, Id, limitedText, nameText } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import { plainSql } from '#postgres/table-marks.ts'
import { ownCompany } from '#projections/companies.ts'
import { existing } from '#projections/define-projection.ts'
import { gapsIn, tillById, tillByKey } from '#projections/tills.ts'

/** A coordinate of a point on P256: 32 bytes. */
const Coordinate = limitedText(43, 'deve ter 43 caracteres de base64url').regex(/^[\w-]{43}$/)

/** Registration of a till. Unknown fields of the key are ignored. */
export const TillInput = z.object({
  name: nameText(100),
  public_key: z
    .object({ kty: z.literal('EC'), crv: z.literal('P-256'), x: Coordinate, y: Coordinate })
    .meta({ id: 'TillKey' }),
})

interface NewTill {
  readonly name: string
  readonly x: string
  readonly y: string
}

/** Tills of a company that are not ended. */
export const MAX_TILLS = 50

/** Numbers are counted exactly. */
const LAST_NUMBER = Number.MAX_SAFE_INTEGER - 1

const WAY = { fee_percentage: '0.00', due_days: 30, acquirer_rate: null, settles_in_days: null } as const
/** Payment types of a company that has none when it opens its first till: it can sell at once. */
const FIRST_WAYS = [
  { ...WAY, name: 'Dinheiro', kind: 'cash' },
  { ...WAY, name: 'Pix', kind: 'pix' },
] as const

/** Gives a device its number; the same key is the same till. */
export const registerTill = command<NewTill>({
  needs: ({ x, y }) => [ownCompany, tillByKey(x, y)],
  lookup: () => ({
    name: 'count_tills',
    text: plainSql(`select (select count(*)::integer from tills where company_id = $1 and ended_at is null) as open,
      not exists (select from payment_types where company_id = $1) as takes_nothing`),
    values: [],
  }),
  decide(rows, { name, x, y }, { nextId, found }) {
    const known = rows.get(tillByKey(x, y))
    if (known?.ended_at) return invalid('public_key', 'este caixa foi encerrado')
    if (known) return accept('unchanged', `till/${known.id}`, [], [], { name: known.doc.name })
    const [{ open, takes_nothing }] = found as readonly [{ readonly open: number; readonly takes_nothing: boolean }]
    if (open >= MAX_TILLS) return invalid('public_key', `a empresa já tem ${MAX_TILLS} caixas: encerre os que não usa`)
    const registered = event('TillRegistered', { id: nextId('till'), name, x, y })
    const ways = takes_nothing
      ? FIRST_WAYS.map((way) => event('PaymentTypeCreated', { id: nextId('payment_type'), ...way }))
      : []
    return accept('created', registered.subject, [registered, ...ways], [], { name })
  },
})

/** Ends a till: what it signs afterwards is warned of, and its number of a company's tills is free. */
export const endTill = command<{ readonly id: number }>({
  permission: 'manage_company',
  needs: ({ id }) => [ownCompany, tillById(id)],
  decide(rows, { id }) {
    const till = rows.get(tillById(id))
    if (!till) return refuse('not_found')
    const ended = event('TillEnded', { id })
    return till.ended_at === null ? accept('updated', ended.subject, [ended]) : accept('unchanged', ended.subject)
  },
})

export const GivenUp = z.object({ reason: boundedText(500) })

/** Numbers of a till that a person does not expect any more, with the reason. */
export const giveUpElements = command<{
  readonly id: number
  readonly from: number
  readonly to: number
  readonly reason: string
}>({
  permission: 'cancel_all',
  needs: ({ id }) => [ownCompany, tillById(id)],
  decide(rows, { id, from, to, reason }) {
    const till = rows.get(tillById(id))
    if (!till) return refuse('not_found')
    if (!(from >= 1 && from <= to && to <= LAST_NUMBER)) return refuse('not_found')
    // What has come meanwhile is in no gap, and stays.
    if (gapsIn(till.doc.settled, to).every(([, end]) => end < from)) return accept('unchanged', `till/${id}`)
    const given = event('TillElementsGivenUp', { id, from, to, reason })
    return accept('updated', given.subject, [given])
  },
})

export const TailOfTill = z.object({ id: Id, last: Id })

/** Tells numbers that a till named a day ago and that have not come, once. */
export const tellTail = command<z.infer<typeof TailOfTill>>({
  needs: ({ id }) => [ownCompany, tillById(id)],
  decide(rows, { id, last }) {
    const from = existing(rows, tillById(id)).told_to + 1
    if (from > last) return accept('unchanged', `till/${id}`)
    const told = event('TillGapDetected', { id, missing: [[from, last]] })
    return accept('updated', told.subject, [told])
  },
})
