import type { Pool } from 'pg'
import { addMilliseconds } from '#domain/instant.ts'
import { type DataOf, isSubscribed, type WebhookEvent } from '#events/catalogue.ts'
import type { Envelope } from '#ledger/command.ts'
import { isOpenCompany } from '#ledger/ledgers.ts'
import type { Reactor } from '#ledger/projection.ts'
import { type AnyRef, byPk, table } from '#ledger/table.ts'
import { createWorkingSet, type Rows } from '#ledger/working-set.ts'
import { asSystem, type OperationContext, operate } from '#ledger/write/run.ts'
import { createRoundRobin, type Repetition, type RoundRobin, repeat, roundRobinOrder } from '#lib/background-loops.ts'
import { isLockConflict, type Transaction } from '#postgres/transaction.ts'
import { catalogItemView } from '#projections/catalog.ts'
import { ownCompany } from '#projections/companies.ts'
import { stockMoves } from '#projections/stock.ts'
import { queueMessage, routesFor, sequenceByWebhook, viewItem } from './outbox.ts'

const STOCK_CHANGED = 'catalog_item.stock_changed' satisfies WebhookEvent

/** Least time between two messages about an item's stock (HOOK-90). */
const PERIOD_MS = 1_000

/** An item with stock movements since the last message about it. */
interface StockChange {
  company_id: number
  catalog_item_id: number
  due_at: string
  recorded_at: string
  origin: Envelope['origin']
  /** Null if several actors moved it. */
  actor: string | null
}

const stockChanges = table<StockChange>('webhook_stock_changes', {
  columns: {
    company_id: 'bigint',
    catalog_item_id: 'bigint',
    due_at: 'timestamptz',
    recorded_at: 'timestamptz',
    origin: 'text',
    actor: 'text',
  },
  keys: { pk: ['company_id', 'catalog_item_id'] },
})

const changeOf = (itemId: number) => byPk(stockChanges, itemId)

/** Items with a stock that an event moves. */
function movedItems({ type, data }: Envelope): readonly number[] {
  switch (type) {
    case 'CatalogItemCreated':
      return (data as DataOf<'CatalogItemCreated'>).stock === null ? [] : [(data as { id: number }).id]
    case 'StockAdjusted':
      return [(data as { id: number }).id]
    case 'StockMovementRecorded':
      return [(data as DataOf<'StockMovementRecorded'>).catalog_item_id]
    case 'InventoryApplied':
    case 'GoodsReceiptUndone':
      return (data as DataOf<'InventoryApplied'>).stocks.map(({ catalog_item_id }) => catalog_item_id)
    case 'GoodsStocked':
      return distinct((data as DataOf<'GoodsStocked'>).lines)
    case 'SaleCompleted':
    case 'OfflineSaleCompleted':
      return distinct(stockMoves((data as DataOf<'SaleCompleted'>).items))
    case 'SaleReturned':
    case 'ReturnReversed':
      return distinct((data as DataOf<'SaleReturned'>).stock)
    case 'SaleCancelled':
      return distinct((data as DataOf<'SaleCancelled'>).restock)
    default:
      return []
  }
}

const distinct = (moves: readonly { readonly catalog_item_id: number }[]): number[] => [
  ...new Set(moves.map(({ catalog_item_id }) => catalog_item_id)),
]

/** Whether an enabled endpoint subscribes to stock changes; most companies have none, and pay nothing for them. */
const isWanted = (rows: Rows): boolean =>
  (rows.get(ownCompany)?.webhooks ?? []).some(({ enabled, events }) => enabled && isSubscribed(events, STOCK_CHANGED))

/**
 * Notes the items with a stock that an event moves, in its transaction: a message about the stock that they end at is due a
 * second after the first movement.
 */
export const noteStockChanges: Reactor = {
  refs(rows, event) {
    const items = isWanted(rows) ? movedItems(event) : []
    return items.length > 0 ? items.map(changeOf) : null
  },
  react(rows, event, _record, { companyId: company_id, now }) {
    const { recorded_at, origin } = event
    for (const catalog_item_id of movedItems(event)) {
      const before = rows.get(changeOf(catalog_item_id))
      const actor = before && before.actor !== event.actor ? null : event.actor
      const due_at = before?.due_at ?? addMilliseconds(now, PERIOD_MS)
      rows.put(stockChanges, { company_id, catalog_item_id, due_at, recorded_at, origin, actor })
    }
  },
}

/** Items per transaction: the company's commands wait for it. */
const STEP_ITEMS = 200
/** Transactions per run; the next one begins at once if changes are due. */
const RUN_STEPS = 1_000

/** Each commit with deliveries asks for a look; it comes ten times a second at most. */
const REST_MS = 100

const NEXT_DUE = {
  name: 'next_due_stock_change',
  text: `select company_id from webhook_stock_changes where due_at <= clock_timestamp() and ${isOpenCompany('company_id')}
         order by ${roundRobinOrder('company_id', '$1')} limit 1`,
}

const TAKE = {
  name: 'take_stock_changes',
  text: `delete from webhook_stock_changes where company_id = $1 and catalog_item_id = any(array(
           select catalog_item_id from webhook_stock_changes
           where company_id = $1 and due_at <= clock_timestamp() order by due_at, catalog_item_id limit ${STEP_ITEMS}))
         returning *`,
}

/**
 * Queues messages about the stocks of the next company with due changes. One transaction under the ledger's lock: a
 * crash neither loses nor repeats a message. Returns whether messages may have been queued; null if nothing is due.
 */
export async function queueStockChanges(
  pool: Pool,
  newId: () => string,
  companies: RoundRobin = createRoundRobin(),
): Promise<true | null> {
  const [due] = await companies.take<{ company_id: number }>(pool, NEXT_DUE, [])
  if (!due) return null
  await operate(pool, asSystem(due.company_id), async (operating) => {
    await queueDue(operating, newId)
    return ''
  })
  return true
}

/** Sends each statement when the one before has ended: the dispatcher's connections do not pipeline. */
function inTurn(tx: Transaction): Transaction {
  let turn: Promise<unknown> = Promise.resolve()
  const query: Transaction['query'] = (statement, values) => {
    const answer = turn.then(() => tx.query(statement, values))
    turn = answer
    return answer as never
  }
  return { query }
}

async function queueDue({ tx: own, companyId, now }: OperationContext, newId: () => string): Promise<void> {
  const tx = inTurn(own)
  const { rows: changes } = await tx.query<StockChange>(TAKE, [companyId])
  const set = createWorkingSet()
  const rows = set.of(companyId)
  const load = async (...refs: AnyRef[]) => {
    set.queue(companyId, refs)
    await Promise.all(set.load(tx))
  }
  const ids = changes.map(({ catalog_item_id }) => catalog_item_id)
  await load(ownCompany, ...ids.flatMap((id) => catalogItemView.refs(id)))
  const wanted = changes.map((change) => ({ change, routes: routesFor(rows, STOCK_CHANGED, change) }))
  await load(
    ...ids.flatMap((id) => catalogItemView.refsMore?.(rows, id) ?? []),
    ...wanted.flatMap(({ routes }) => routes.map(({ id }) => sequenceByWebhook(id))),
  )
  for (const { change, routes } of wanted) {
    if (routes.length === 0) continue
    const { catalog_item_id, ...cause } = change
    const data = viewItem.render(rows, catalog_item_id, now)
    if (data === null) continue
    queueMessage(rows, { ...cause, revision: null }, { id: newId(), name: STOCK_CHANGED, data }, { newId, now })
  }
  await Promise.all(set.flush(tx))
}

interface StockChangesOptions {
  readonly pool: Pool
  readonly newId: () => string
  /** Called when messages were queued. */
  readonly onQueued: () => void
  readonly poll_ms: number
  readonly log: (message: string, error: unknown) => void
}

const UNTIL_DUE = {
  name: 'until_stock_change_is_due',
  text: `select extract(epoch from min(due_at) - clock_timestamp())::float8 * 1000 as pause_ms from webhook_stock_changes`,
}

/** Queues messages about stocks while it runs; any number of processes may do so on one database. */
export function watchStockChanges({ pool, newId, onQueued, poll_ms, log }: StockChangesOptions): Repetition {
  const companies = createRoundRobin()
  let pause_ms = poll_ms
  return repeat(
    async (stopping) => {
      pause_ms = poll_ms
      for (let step = 0; step < RUN_STEPS && !stopping.aborted; step += 1) {
        if ((await queueStockChanges(pool, newId, companies)) === null) break
        onQueued()
      }
      const { rows } = await pool.query<{ pause_ms: number | null }>(UNTIL_DUE)
      pause_ms = Math.min(Math.max(rows[0]?.pause_ms ?? poll_ms, 1), poll_ms)
    },
    () => pause_ms,
    (error) => {
      // The company's commands go first; the next run tries again.
      if (!isLockConflict(error)) log('webhooks: queueing stock changes failed, will retry', error)
    },
    REST_MS,
  )
}
