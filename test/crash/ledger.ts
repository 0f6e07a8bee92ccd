import { expect } from 'chai'
import { fromThousandths, toThousandths } from '#domain/money.ts'
import type { EventName } from '#events/catalogue.ts'
import { type Envelope, streamName } from '#ledger/command.ts'
import { readNewest } from '#ledger/port.ts'
import { parseSubject } from '#ledger/projection.ts'
import type { Core } from '#service/core.ts'
import type { Json } from '../support/api.ts'
import { type Book, SIDES } from './book.ts'
import type { PlayedCompany } from './companies.ts'

/** Facts of a shop's ledger by event type. */
type Facts = (type: EventName) => readonly { readonly id: number; readonly data: Json }[]

/** Asserts that the ledger contains every acknowledged write exactly once, and nothing else, and that stock adds up. */
export async function expectLedger(core: Core, shop: PlayedCompany, book: Book): Promise<void> {
  const facts = await factsOf(core, shop)
  const ids = (type: EventName) => facts(type).map(({ id }) => id)

  expect(ids('SaleCompleted'), 'sales').to.have.members([...book.sales.keys(), ...book.orderSales.keys()])
  expect(ids('SaleCancelled'), 'cancelled sales').to.have.members([...book.cancelled])
  expect(
    facts('OfflineSaleCompleted').map(({ id, data }) => [data.offline_id, id]),
    'offline sales',
  ).to.have.deep.members([...book.offline].map(([offlineId, { sale }]) => [offlineId, sale]))
  const externalIds = (type: EventName) => facts(type).flatMap(({ data }) => data.external_id ?? [])
  expect(externalIds('CustomerCreated'), 'customers').to.have.members([...book.customers])
  expect(externalIds('CatalogItemCreated'), 'items').to.have.members([...book.items])
  expect(
    facts('CustomerUpdated').map(({ id, data }) => ({ id, name: data.changes.name })),
    'renamed customers',
  ).to.have.deep.members([...book.renamings])
  for (const side of SIDES) {
    const name = side === 'receivables' ? 'Receivable' : 'Payable'
    expect(ids(`${name}Created`), side).to.have.members([...book.accounts[side].keys()])
    expect(ids(`${name}Settled`), `settled ${side}`).to.have.members([...book.settled[side]])
  }
  // The first one is older than the run.
  expect(ids('WebhookRegistered').slice(1), 'addresses').to.have.members([...book.webhooks])
  expect(ids('OrderPlaced'), 'orders').to.have.members([...book.orders])
  for (const type of ['PaymentStarted', 'OrderPaid', 'CommissionSplit'] as const)
    expect(ids(type), type).to.have.members([...book.paid.keys()])

  const moved = adjustmentsOf(facts, book)
  await expectStock(core, shop, book, moved)
}

async function factsOf(core: Core, { companyId }: PlayedCompany): Promise<Facts> {
  const byType = new Map<string, Envelope[]>()
  for await (const event of readNewest(core, streamName(companyId), 0)) {
    const events = byType.get(event.type) ?? []
    byType.set(event.type, events)
    events.push(event)
  }
  return (type) =>
    (byType.get(type) ?? []).map(({ subject, data }) => ({ id: parseSubject(subject).id, data: data as Json }))
}

/**
 * Thousandths added to each product by adjustments: all acknowledged ones, and possibly some with an unknown outcome.
 */
function adjustmentsOf(facts: Facts, { adjustments }: Book): Map<number, number> {
  const moved = new Map<number, number>()
  const seen: number[] = []
  for (const { id, data } of facts('StockAdjusted')) {
    if (data.reason !== 'adjustment') continue
    const thousandths = toThousandths(data.after) - toThousandths(data.before)
    seen.push(thousandths)
    moved.set(id, (moved.get(id) ?? 0) + thousandths)
  }
  const told = (...outcomes: string[]) =>
    adjustments.filter(({ outcome }) => outcomes.includes(outcome)).map(({ thousandths }) => thousandths)
  expect(new Set(seen).size, 'adjustments made once').to.equal(seen.length)
  expect(seen, 'acknowledged adjustments').to.include.members(told('done'))
  expect(told('done', 'unknown'), 'adjustments that were asked for').to.include.members(seen)
  return moved
}

/** Opening stock − sold + cancelled ± adjusted. */
async function expectStock(
  { pool }: Core,
  shop: PlayedCompany,
  book: Book,
  moved: ReadonlyMap<number, number>,
): Promise<void> {
  const sold = [
    ...[...book.sales].filter(([id]) => !book.cancelled.has(id)).map(([, product]) => product),
    ...book.orderSales.values(),
    ...[...book.offline.values()].filter(({ sale }) => !book.cancelled.has(sale)).map(({ product }) => product),
  ]
  const expected = [...shop.products].map(([id, opening]) => {
    const gone = sold.filter((product) => product === id).length
    return { id, stock: fromThousandths((opening - gone) * 1000 + (moved.get(id) ?? 0)) }
  })
  const { rows } = await pool.query(
    `select id, stock from read.item_stocks where company_id = $1 and id = any($2) order by id`,
    [shop.companyId, [...shop.products.keys()]],
  )
  expect(rows).to.deep.equal(expected)
}
