import type { OfflineBody, SaleBody } from './calls.ts'
import { short } from './items.ts'
import { owe } from './receivables.ts'
import {
  answered,
  byExternalId,
  invalid,
  type Line,
  live,
  NOT_FOUND,
  type Outcome,
  reais,
  refused,
  type Sale,
  type State,
  type Turn,
  type Uploaded,
  units,
} from './state.ts'

export const shownSale = ({ id, external_id, origin, cancelled, customer, lines, total, change }: Sale) => ({
  id,
  external_id,
  status: cancelled ? 'cancelled' : 'completed',
  origin,
  customer,
  items: lines.map((line) => ({ catalog_item_id: line.item, quantity: units(line.units), total: reais(line.total) })),
  total: reais(total),
  change: reais(change),
})

const show = (status: number, sale: Sale): Outcome => answered(status, shownSale(sale))

const sum = (lines: readonly Line[]): number => lines.reduce((total, line) => total + line.total, 0)

/** Units per item of lines that move stock. */
function moves(lines: readonly Line[]): Map<number, number> {
  const all = new Map<number, number>()
  for (const { item, units, moved } of lines) if (moved) all.set(item, (all.get(item) ?? 0) + units)
  return all
}

/** Untracked items have no stock to move. */
function move({ items }: Turn['state'], lines: readonly Line[], sign: 1 | -1): void {
  for (const [id, count] of moves(lines)) {
    const item = items.get(id)
    if (item && item.stock !== null) items.set(id, { ...item, stock: item.stock + sign * count })
  }
}

/** The whole sale or nothing. */
export function sell(turn: Turn, body: SaleBody): Outcome {
  const { state } = turn
  const same = byExternalId(state.sales, body.external_id)
  if (same) return refused(409, 'duplicate_resource', { field: 'external_id', conflicting_id: same.id })
  const buyer = byExternalId(state.customers, body.customer_external_id)
  if (body.customer_external_id && !live(buyer)) return invalid('customer_external_id')
  const missing = body.lines.findIndex((line) => !live(state.items.get(line.item)))
  if (missing >= 0) return invalid(`items[${missing}].catalog_item_id`)
  const lines = body.lines.map(({ item, units, price }) => priced(state, item, units, price))
  const total = sum(lines)
  if (body.paid < total) return refused(422, 'payment_mismatch', { total: reais(total), paid: reais(body.paid) })
  const lacking = [...moves(lines)].flatMap(([id, count]) => {
    const available = state.items.get(id)?.stock ?? 0
    return available < count ? [[id, count, available] as const] : []
  })
  if (lacking.length > 0) return short(lacking)
  const sale: Sale = {
    id: turn.newId('sale'),
    external_id: body.external_id ?? null,
    origin: 'api',
    cancelled: false,
    customer: buyer ? { id: buyer.id, external_id: buyer.external_id, name: buyer.name } : null,
    lines,
    total,
    change: body.paid - total,
  }
  state.sales.set(sale.id, sale)
  move(state, lines, -1)
  turn.events += 1
  return show(201, sale)
}

function priced({ items }: State, item: number, units: number, price?: number): Line {
  const known = items.get(item)
  return { item, units, total: units * (price ?? known?.price ?? 0), moved: known?.stock !== null }
}

export function cancel(turn: Turn, id: number): Outcome {
  const known = turn.state.sales.get(id)
  if (!known) return NOT_FOUND
  if (known.origin === 'pdv') return refused(409, 'managed_by_pdv')
  if (known.cancelled) return show(200, known)
  const after = { ...known, cancelled: true }
  turn.state.sales.set(id, after)
  move(turn.state, known.lines, 1)
  turn.events += 1
  return show(200, after)
}

export function getSale({ state }: Turn, id: number): Outcome {
  const known = state.sales.get(id)
  return known ? show(200, known) : NOT_FOUND
}

/** Uploaded sales are facts: recorded despite problems. */
export function recordOffline(turn: Turn, sold: OfflineBody): object {
  const { state } = turn
  const { offline_id } = sold
  const refusal = (code: string) => ({ offline_id, status: 'error', sale_id: null, code })
  const sent = JSON.stringify([sold.lines, sold.onCredit])
  const lineTexts = JSON.stringify(sold.lines)
  const known = state.uploads.get(offline_id)
  if (known && known.sent !== sent && !(sold.cancelled && known.sold === lineTexts))
    return refusal('duplicate_resource')
  if (known) {
    const isCancelled = sold.cancelled && state.sales.get(known.sale)?.cancelled === false
    if (sold.cancelled) cancelUploaded(turn, known)
    return {
      offline_id,
      status: isCancelled ? 'cancelled' : 'duplicate',
      sale_id: known.sale,
      warnings: known.warnings,
    }
  }
  if (sold.lines.some((line) => !state.items.has(line.item))) return refusal('validation_failed')
  const id = turn.newId('sale')
  const lines = sold.lines
    .map(({ item, units, price }) => priced(state, item, units, price))
    .map((line) => ({ ...line, moved: line.moved && !sold.cancelled }))
  const total = sum(lines)
  const warnings = warningsOf(state, sold, lines)
  const base = { id, external_id: null, origin: 'pdv', customer: null } as const
  state.sales.set(id, { ...base, cancelled: sold.cancelled, lines, total, change: 0 })
  move(state, lines, -1)
  turn.events += 1
  let owed: number | null = null
  if (sold.onCredit && !sold.cancelled) {
    owed = owe(turn, { external_id: null, origin: 'sale', amount: total }).id
    turn.events += 1
  }
  state.uploads.set(offline_id, { sale: id, sent, sold: lineTexts, owed, warnings })
  return { offline_id, status: 'created', sale_id: id, warnings }
}

/** The model never settles the receivable of a sale, so it is deleted too. */
function cancelUploaded(turn: Turn, { sale, owed }: Uploaded): void {
  const { sales, receivables } = turn.state
  const known = sales.get(sale)
  if (!known || known.cancelled) return
  sales.set(sale, { ...known, cancelled: true })
  move(turn.state, known.lines, 1)
  turn.events += 1
  const receivable = owed === null ? undefined : receivables.get(owed)
  if (!receivable) return
  receivables.set(receivable.id, { ...receivable, deleted: true })
  turn.events += 1
}

/** By code and product, unordered. */
function warningsOf({ items }: State, { lines: sold }: OfflineBody, lines: readonly Line[]): string[] {
  const warnings = new Set<string>()
  for (const { item, price } of sold) {
    const known = items.get(item)
    if (known?.deleted) warnings.add(`product_deactivated ${item}`)
    if (known?.price !== price) warnings.add(`price_differs ${item} ${price}`)
  }
  for (const [id, count] of moves(lines)) {
    const left = (items.get(id)?.stock ?? 0) - count
    if (left < 0) warnings.add(`negative_stock ${id} ${left}`)
  }
  return [...warnings].sort()
}
