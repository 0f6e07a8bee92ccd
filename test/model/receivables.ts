import type { ReceivableBody } from './calls.ts'
import {
  answered,
  byExternalId,
  invalid,
  live,
  NOT_FOUND,
  type Outcome,
  type Receivable,
  reais,
  refused,
  type Turn,
  taken,
} from './state.ts'

export const shownReceivable = ({ id, external_id, origin, amount, settled }: Receivable) => ({
  id,
  external_id,
  origin,
  amount: reais(amount),
  status: settled ? 'settled' : 'pending',
})

const show = (status: number, receivable: Receivable): Outcome => answered(status, shownReceivable(receivable))

/** The point of sale owns those of sales; settled ones cannot change. */
function locked({ origin, settled }: Receivable): Outcome | null {
  if (origin === 'sale') return refused(409, 'managed_by_pdv')
  return settled ? refused(409, 'already_settled') : null
}

export function createReceivable(turn: Turn, body: ReceivableBody): Outcome {
  return taken('external_id', byExternalId(turn.state.receivables, body.external_id), null) ?? add(turn, body)
}

function add(turn: Turn, { external_id, amount }: ReceivableBody): Outcome {
  const receivable = owe(turn, { external_id: external_id ?? null, origin: 'api', amount })
  turn.events += 1
  return show(201, receivable)
}

/** New receivable; the caller counts its events. */
export function owe(turn: Turn, fields: Pick<Receivable, 'external_id' | 'origin' | 'amount'>): Receivable {
  const receivable = { id: turn.newId('receivable'), ...fields, settled: false, deleted: false }
  turn.state.receivables.set(receivable.id, receivable)
  return receivable
}

export function putReceivable(turn: Turn, external_id: string, { amount }: ReceivableBody): Outcome {
  const known = byExternalId(turn.state.receivables, external_id)
  return known ? (locked(known) ?? change(turn, known, amount)) : add(turn, { external_id, amount })
}

export function patchReceivable(turn: Turn, id: number, { amount }: ReceivableBody): Outcome {
  const known = live(turn.state.receivables.get(id))
  return known ? (locked(known) ?? change(turn, known, amount)) : NOT_FOUND
}

function change(turn: Turn, known: Receivable, amount: number): Outcome {
  if (known.deleted || known.amount !== amount) turn.events += 1
  const after = { ...known, amount, deleted: false }
  turn.state.receivables.set(known.id, after)
  return show(200, after)
}

export function deleteReceivable(turn: Turn, id: number): Outcome {
  const known = live(turn.state.receivables.get(id))
  if (!known) return NOT_FOUND
  const refusal = locked(known)
  if (refusal) return refusal
  turn.state.receivables.set(id, { ...known, deleted: true })
  turn.events += 1
  return answered(204)
}

/** Pays all that is open: nothing was paid before. */
export function settle(turn: Turn, id: number, amount: number | undefined): Outcome {
  const known = live(turn.state.receivables.get(id))
  if (!known) return NOT_FOUND
  const refusal = locked(known)
  if (refusal) return refusal
  if (amount !== undefined && amount !== known.amount) return invalid('amount')
  const after = { ...known, settled: true }
  turn.state.receivables.set(id, after)
  turn.events += 2
  return show(200, after)
}

export function getReceivable({ state }: Turn, id: number): Outcome {
  const known = live(state.receivables.get(id))
  return known ? show(200, known) : NOT_FOUND
}
