import type { Pool } from 'pg'
import { fromThousandths, toThousandths } from '#domain/quantity.ts'
import type { DataOf, EventOf } from '#events/catalogue.ts'
import { type Envelope, streamOf } from '#ledger/envelope.ts'
import { type EventReader, pickNewest } from '#ledger/reading.ts'
import { stockMoves } from '#projections/catalog.ts'
import { readModel } from '#projections/index.ts'

/** Cause of a movement; `created` is the initial stock. */
type Reason = 'created' | 'count' | 'adjustment' | 'sale' | 'cancellation'

/** A stock movement of a product. Quantities have 3 decimals. */
export interface StockMovement {
  readonly revision: number
  /** UTC. */
  readonly recorded_at: string
  readonly actor: string | null
  readonly reason: Reason
  /** The sale that took the stock or returned it. */
  readonly sale_id: number | null
  /** The order whose goods came back, or left again. */
  readonly order_id: number | null
  /** May be negative; null where tracking began or ended. */
  readonly change: string | null
  /** Stock after the movement; null if untracked. */
  readonly after: string | null
}

export interface StockMovements {
  /** Newest first. */
  readonly movements: readonly StockMovement[]
  /** Cursor of the next, older page; null on the last. */
  readonly next: number | null
}

/** A section of the row's history: its events, ascending, and the stock after the last one. */
interface Part {
  readonly revision: number
  readonly revisions: readonly number[]
  readonly stock: string | null
}

interface ItemHistory {
  readonly own: Part
  readonly pasts: readonly Part[]
}

/** History sections on a page, after the one in the row itself; each has up to 32 events. */
const PARTS = 1

/** $3: only before this revision; null includes the section in the row itself. */
const PARTS_OF_ITEM = `
  select json_build_object('revision', i.revision, 'stock', i.stock::text, 'revisions', (
      select json_agg(r.value order by r.value) from (
        select value::bigint from json_array_elements_text(coalesce(i.past_revisions, '[]')) union all select i.revision) r)
    ) as own,
    (select coalesce(json_agg(p order by p.revision desc), '[]') from (
      select p.revision, p.revisions, p.state->'doc'->>'stock' as stock from row_pasts p
      where p.company_id = $1 and p.of_table = 'catalog_items' and p.row_id = $2 and ($3::bigint is null or p.revision < $3::bigint)
      order by p.revision desc limit ${PARTS + 1}) p) as pasts
  from catalog_items i where i.company_id = $1 and i.id = $2`

/**
 * Movements of a product, from the events in its row history: pages are bounded, whatever else the ledger holds.
 * `before` is `next` of the previous page. Null if the item does not exist.
 */
export async function listStockMovements(
  { pool, ...ledgers }: Omit<EventReader, 'model'> & { readonly pool: Pool },
  companyId: number,
  itemId: number,
  before: number | null,
): Promise<StockMovements | null> {
  const { rows } = await pool.query<ItemHistory>({
    name: 'parts_of_item',
    text: PARTS_OF_ITEM,
    values: [companyId, itemId, before],
  })
  if (!rows[0]) return null
  const { own, pasts } = rows[0]
  const shown = pasts.slice(0, PARTS)
  const parts = before === null ? [own, ...shown] : shown
  const revisions = parts.flatMap((part) => part.revisions).sort((a, b) => a - b)
  const events = new Map<number, Envelope>()
  const reading = { ...ledgers, model: readModel }
  for await (const event of pickNewest(reading, streamOf(companyId), revisions)) events.set(event.revision, event)
  return {
    movements: parts.flatMap((part) => movementsIn(part, events, itemId)),
    next: pasts.length > PARTS ? (shown.at(-1)?.revision ?? null) : null,
  }
}

/** From the stock at its end back to its beginning. */
export function movementsIn(part: Part, events: ReadonlyMap<number, Envelope>, itemId: number): StockMovement[] {
  let stock = part.stock
  return part.revisions.toReversed().flatMap((revision) => {
    const event = events.get(revision)
    const found = event && movementOf(event, itemId, stock)
    if (!event || !found) return []
    const { recorded_at, actor } = event
    const movement = { revision, recorded_at, actor, ...found.movement, after: stock }
    stock = found.before
    return [movement]
  })
}

type MovingEvent = 'CatalogItemCreated' | 'StockAdjusted' | 'SaleCompleted' | 'OfflineSaleCompleted' | 'SaleCancelled'
type StockEvent = { [N in MovingEvent]: EventOf<N> }[MovingEvent]

type MovementDetails = Pick<StockMovement, 'reason' | 'sale_id' | 'order_id' | 'change'>

/** The movement of an event that left `after`; null if the event did not change the stock. */
function movementOf(
  event: Envelope,
  itemId: number,
  after: string | null,
): { movement: MovementDetails; before: string | null } | null {
  const ofSale = (reason: Reason, sale_id: number, thousandths: number) => {
    if (thousandths === 0) return null
    const before = after === null ? null : fromThousandths(toThousandths(after) - thousandths)
    return { movement: { reason, sale_id, order_id: null, change: fromThousandths(thousandths) }, before }
  }
  const known = event as Envelope as StockEvent
  switch (known.type) {
    case 'CatalogItemCreated':
      return known.data.stock === null
        ? null
        : { movement: { reason: 'created', sale_id: null, order_id: null, change: known.data.stock }, before: null }
    case 'StockAdjusted': {
      const { reason, before, order_id = null } = known.data
      return { movement: { reason, sale_id: null, order_id, change: difference(known.data) }, before }
    }
    case 'SaleCompleted':
    case 'OfflineSaleCompleted':
      return ofSale('sale', known.data.id, -quantityOf(stockMoves(known.data.items), itemId))
    case 'SaleCancelled':
      return ofSale('cancellation', known.data.id, quantityOf(known.data.restock, itemId))
    default:
      return null
  }
}

const difference = ({ before, after }: Pick<DataOf<'StockAdjusted'>, 'before' | 'after'>): string | null =>
  before === null || after === null ? null : fromThousandths(toThousandths(after) - toThousandths(before))

/** In thousandths. An item may appear in a sale several times. */
const quantityOf = (
  moves: readonly { readonly catalog_item_id: number; readonly quantity: string }[],
  itemId: number,
): number =>
  moves.reduce(
    (sum, { catalog_item_id, quantity }) => sum + (catalog_item_id === itemId ? toThousandths(quantity) : 0),
    0,
  )
