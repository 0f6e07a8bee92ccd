import * as z from 'zod'
import { Instant } from '#domain/instant.ts'
import { Money } from '#domain/money.ts'
import { applyPriceRule, PriceRule } from '#domain/prices.ts'
import { type Refusal, refuse, refuseField } from '#domain/refusals.ts'
import { Id } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { accept, command, isRefusal, type NewEvent } from '#ledger/command.ts'
import type { Rows } from '#ledger/working-set.ts'
import { type ItemRow, itemById } from '#projections/catalog.ts'
import { type NewPrice, type PriceChangeObject, priceChangeById } from '#projections/price-changes.ts'
import { permitAll, type RecordId } from './record-commands.ts'
import { UNKNOWN_ITEM } from './stock-commands.ts'

/** Items of one act; a form of the panel has a thousand fields. */
export const MAX_PRICED_ITEMS = 900

const DAY_MS = 24 * 3600 * 1000
/** How long ahead prices are scheduled, and how long after its moment an act may be undone. */
const [SCHEDULE_DAYS, UNDO_DAYS] = [365, 30]

/** `before` and `after` as the user saw them; without them they follow from the rule, and an equal price is left out. */
export const ChangePricesInput = z.strictObject({
  rule: PriceRule,
  /** Null: now. */
  starts_at: Instant.nullable(),
  items: z
    .array(z.strictObject({ catalog_item_id: Id, before: Money.optional(), after: Money.optional() }))
    .min(1, 'marque ao menos um item')
    .max(MAX_PRICED_ITEMS, `no máximo ${MAX_PRICED_ITEMS} itens por vez`),
})
export type ChangePricesInput = z.infer<typeof ChangePricesInput>

/** Changes the prices of many items, now or at a moment. A price that is not as the user saw it refuses the whole act. */
export const changePrices = command<ChangePricesInput>({
  permission: 'change_price',
  isAlone: true,
  needs: ({ items }) => items.map(({ catalog_item_id }) => itemById(catalog_item_id)),
  decide(rows, { rule, starts_at, items }, { now, nextId, permit }) {
    const granted = permitAll(permit, ['edit_catalog', ...(rule.kind === 'cost' ? (['see_costs'] as const) : [])])
    if (isRefusal(granted)) return granted
    const problem = starts_at === null ? null : momentProblem(starts_at, now)
    if (problem !== null) return refuseField('starts_at', problem)
    if (new Set(items.map(({ catalog_item_id }) => catalog_item_id)).size < items.length)
      return refuseField('items', 'um item aparece duas vezes')
    const prices = newPrices(rows, rule, items)
    if (isRefusal(prices)) return prices
    const stale = prices.filter((price) => !isAsShown(rows, rule, price))
    if (stale.length > 0) return refuseStale(rows, stale)
    const id = nextId('price_change')
    const planned = event('PriceChangePlanned', { id, rule, starts_at, prices })
    return accept('created', planned.subject, [planned, ...(starts_at === null ? apply(rows, id, prices) : [])])
  },
})

function momentProblem(starts_at: string, now: string): string | null {
  if (starts_at <= now) return 'escolha um momento no futuro, ou deixe em branco para mudar agora'
  return Date.parse(starts_at) - Date.parse(now) > SCHEDULE_DAYS * DAY_MS ? 'no máximo um ano adiante' : null
}

const findItem = (rows: Rows, id: number): Readonly<ItemRow> | null => {
  const item = rows.get(itemById(id))
  return item && !item.deleted_at ? item : null
}

/** The items with their prices; what has none by the rule is named. */
function newPrices(rows: Rows, rule: PriceRule, items: ChangePricesInput['items']): NewPrice[] | Refusal {
  const fields: Record<string, string[]> = {}
  const prices = items.flatMap(({ catalog_item_id, before, after }, at): NewPrice[] => {
    if (before !== undefined && after !== undefined) return [{ catalog_item_id, before, after }]
    const item = findItem(rows, catalog_item_id)
    const next = item && applyPriceRule(rule, item.doc)
    if (!item) fields[`items[${at}].catalog_item_id`] = [UNKNOWN_ITEM]
    else if (next === null)
      fields[`items[${at}].catalog_item_id`] = ['não tem preço por esta regra: sem custo, ou fora dos limites']
    else if (next !== item.doc.price) return [{ catalog_item_id, before: item.doc.price, after: next }]
    return []
  })
  if (Object.keys(fields).length > 0) return refuse('validation_failed', { fields, unknown_fields: [] })
  return prices.length === 0 ? refuseField('items', 'nenhum preço muda com esta regra') : prices
}

function isAsShown(rows: Rows, rule: PriceRule, { catalog_item_id, before, after }: NewPrice): boolean {
  const item = findItem(rows, catalog_item_id)
  return item?.doc.price === before && before !== after && applyPriceRule(rule, item.doc) === after
}

/** Named items of a message. */
const MENTIONED = 10

function refuseStale(rows: Rows, stale: readonly NewPrice[]): Refusal {
  const names = stale.slice(0, MENTIONED).map(({ catalog_item_id: id }) => rows.get(itemById(id))?.name ?? `item ${id}`)
  const more = stale.length > MENTIONED ? ` e mais ${stale.length - MENTIONED}` : ''
  return refuseField('items', `mudaram desde que a tabela foi mostrada: ${names.join(', ')}${more}`)
}

/** Events that give items their new prices. Items whose price is not `before` any more are left as they are. */
function apply(rows: Rows, id: number, prices: readonly NewPrice[]): NewEvent[] {
  const { left, changed } = reprice(rows, id, prices)
  return [event('PriceChangeApplied', { id, left }), ...changed]
}

function reprice(rows: Rows, price_change_id: number, prices: readonly NewPrice[]) {
  const isLeft = ({ catalog_item_id, before }: NewPrice) => findItem(rows, catalog_item_id)?.doc.price !== before
  const left = prices.filter(isLeft).map(({ catalog_item_id }) => catalog_item_id)
  const changed = prices
    .filter((price) => !isLeft(price))
    .map(({ catalog_item_id: id, after }) =>
      event('CatalogItemUpdated', { id, changes: { price: after }, price_change_id }),
    )
  return { left, changed }
}

const itemsOf = (rows: Rows, { id }: RecordId) =>
  rows.get(priceChangeById(id))?.doc.prices.map(({ catalog_item_id }) => itemById(catalog_item_id)) ?? []

/** Applies a scheduled change that has fallen due, once. By the service, for the user who scheduled it. */
export const applyScheduledPrices = command<RecordId>({
  isAlone: true,
  needs: ({ id }) => [priceChangeById(id)],
  needsMore: itemsOf,
  decide(rows, { id }, { now }) {
    const change = rows.get(priceChangeById(id))
    if (!change) return refuse('not_found')
    const isDue = change.status === 'scheduled' && change.starts_at !== null && change.starts_at <= now
    const events = isDue ? apply(rows, id, change.doc.prices) : []
    return accept(isDue ? 'updated' : 'unchanged', `price_change/${id}`, events)
  },
})

/** Cancels a scheduled change before it is applied. */
export const cancelScheduledPrices = command<RecordId>({
  permission: 'change_price',
  needs: ({ id }) => [priceChangeById(id)],
  decide(rows, { id }, { permit }) {
    const change = rows.get(priceChangeById(id))
    if (!change) return refuse('not_found')
    const granted = permit('edit_catalog')
    if (isRefusal(granted)) return granted
    if (change.status === 'cancelled') return accept('unchanged', `price_change/${id}`)
    if (change.status !== 'scheduled') return refuseField('id', 'os preços já mudaram: use Desfazer')
    return accept('updated', `price_change/${id}`, [event('PriceChangeCancelled', { id })])
  },
})

/** Until when an act may be undone (UTC); null if it may not be. */
export const undoableUntil = ({
  status,
  applied_at,
}: Pick<PriceChangeObject, 'status' | 'applied_at'>): string | null =>
  status === 'applied' && applied_at !== null
    ? new Date(Date.parse(applied_at) + UNDO_DAYS * DAY_MS).toISOString()
    : null

/** Gives the items their prices from before the act, but those whose price was changed since. */
export const undoPriceChange = command<RecordId>({
  permission: 'change_price',
  isAlone: true,
  needs: ({ id }) => [priceChangeById(id)],
  needsMore: itemsOf,
  decide(rows, { id }, { recordedAt, permit }) {
    const change = rows.get(priceChangeById(id))
    if (!change) return refuse('not_found')
    const granted = permit('edit_catalog')
    if (isRefusal(granted)) return granted
    if (change.status === 'undone') return accept('unchanged', `price_change/${id}`)
    const until = undoableUntil(change.doc)
    if (until === null) return refuseField('id', 'os preços ainda não mudaram')
    if (recordedAt > until) return refuseField('id', `só pode ser desfeita até ${UNDO_DAYS} dias depois`)
    const { prices, left: never } = change.doc
    const changed = prices.filter(({ catalog_item_id }) => !never.includes(catalog_item_id))
    const back = changed.map(({ catalog_item_id, before, after }) => ({
      catalog_item_id,
      before: after,
      after: before,
    }))
    const { left, changed: restored } = reprice(rows, id, back)
    return accept('updated', `price_change/${id}`, [event('PriceChangeUndone', { id, left }), ...restored])
  },
})
