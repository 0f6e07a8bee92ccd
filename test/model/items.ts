import type { ItemBody, ItemChanges } from './calls.ts'
import {
  answered,
  byExternalId,
  type Item,
  invalid,
  live,
  NOT_FOUND,
  type Outcome,
  reais,
  refused,
  type State,
  type Turn,
  taken,
  units,
} from './state.ts'

export const shownItem = ({ id, external_id, name, price, stock, barcode }: Item) => ({
  id,
  external_id,
  name,
  price: reais(price),
  stock: stock === null ? null : units(stock),
  barcode,
})

const show = (status: number, item: Item): Outcome => answered(status, shownItem(item))

function conflict({ items }: State, { external_id, barcode }: Partial<ItemBody>, own: number | null): Outcome | null {
  const holder = barcode ? [...items.values()].find((item) => !item.deleted && item.barcode === barcode) : undefined
  return taken('external_id', byExternalId(items, external_id), own) ?? taken('barcode', holder, own)
}

export function createItem(turn: Turn, body: ItemBody): Outcome {
  return conflict(turn.state, body, null) ?? add(turn, body)
}

function add(turn: Turn, { external_id, name, price, stock, barcode }: ItemBody): Outcome {
  const id = turn.newId('catalog_item')
  const texts = { external_id: external_id ?? null, name, barcode: barcode ?? null }
  const item = { id, ...texts, price, stock: stock ?? null, deleted: false }
  turn.state.items.set(id, item)
  turn.events += 1
  return show(201, item)
}

/** Absent stock stays unchanged; other fields are replaced. */
export function putItem(turn: Turn, external_id: string, body: ItemBody): Outcome {
  const { items } = turn.state
  const known = byExternalId(items, external_id)
  const refusal = conflict(turn.state, { barcode: body.barcode }, known?.id ?? null)
  if (refusal) return refusal
  if (!known) return add(turn, { ...body, external_id })
  const { name, price, stock = known.stock, barcode = null } = body
  const after: Item = { ...known, name, price, barcode, stock, deleted: false }
  const isChanged = known.name !== name || known.price !== price || known.barcode !== barcode
  turn.events += (stock === known.stock ? 0 : 1) + (known.deleted || isChanged ? 1 : 0)
  items.set(known.id, after)
  return show(200, after)
}

export function patchItem(turn: Turn, id: number, body: ItemChanges): Outcome {
  const known = live(turn.state.items.get(id))
  if (!known) return NOT_FOUND
  const refusal = conflict(turn.state, { barcode: body.barcode }, id)
  if (refusal) return refusal
  const { price = known.price, barcode = known.barcode, stock_adjustment } = body
  let { stock = known.stock } = body
  if (stock_adjustment !== undefined) {
    if (known.stock === null) return invalid('stock_adjustment')
    stock = known.stock + stock_adjustment
    if (stock < 0 && stock_adjustment < 0) return short([[id, -stock_adjustment, known.stock]])
  }
  const isChanged = price !== known.price || barcode !== known.barcode
  turn.events += (stock !== known.stock ? 1 : 0) + (isChanged ? 1 : 0)
  const after = { ...known, price, barcode, stock }
  turn.state.items.set(id, after)
  return show(200, after)
}

/** Refusal for insufficient stock. */
export function short(all: readonly (readonly [id: number, requested: number, available: number])[]): Outcome {
  const items = all.map(([catalog_item_id, requested, available]) => ({
    catalog_item_id,
    requested: units(requested),
    available: units(available),
  }))
  return refused(422, 'insufficient_stock', { ...items[0], items })
}

export function deleteItem(turn: Turn, id: number): Outcome {
  const known = live(turn.state.items.get(id))
  if (!known) return NOT_FOUND
  // Its barcode is available to others, and is not restored when it is revived.
  turn.state.items.set(id, { ...known, deleted: true })
  turn.events += 1
  return answered(204)
}

export function getItem({ state }: Turn, id: number): Outcome {
  // A deleted one too.
  const known = state.items.get(id)
  return known ? show(200, known) : NOT_FOUND
}

export const listItems = ({ state }: Turn): Outcome =>
  answered(
    200,
    [...state.items.values()]
      .filter((item) => !item.deleted)
      .sort((a, b) => a.id - b.id)
      .map(shownItem),
  )
