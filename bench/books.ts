import { administer } from './database.ts'
import { LINES } from './requests.ts'
import type { Environment } from './servers.ts'
import { STOCK } from './shop.ts'

/** Acknowledged sales by server; compared with the stored ones at the end. */
export class Books {
  readonly #sales = { service: 0, floor: 0 }
  #uploaded = 0

  acknowledge(server: 'service' | 'floor', sales: number): void {
    this.#sales[server] += sales
  }

  /** Uploaded sales have no Idempotency-Key, and so no stored response. */
  acknowledgeUploaded(sales: number): void {
    this.acknowledge('service', sales)
    this.#uploaded += sales
  }

  /** @throws if a sale is missing, stored twice, or has not moved its stock */
  async check({ database, eventStoreUrl }: Environment): Promise<void> {
    await administer(database.url, async (client) => {
      const { rows } = await client.query<Record<string, string>>(STORED, [STOCK])
      const stored = rows[0] ?? {}
      for (const [what, count] of Object.entries(stored)) {
        // An EventStoreDB has them.
        if (eventStoreUrl && what === 'service_events') continue
        const server = what.startsWith('service') ? 'service' : 'floor'
        const sales = this.#sales[server] - (what === 'service_answers' ? this.#uploaded : 0)
        const expected = sales * (what.endsWith('units') ? LINES : 1)
        if (Number(count) !== expected)
          throw new Error(`${what}: ${count} are stored, but ${expected} were acknowledged`)
      }
    })
    console.log(
      `checked: ${this.#sales.service} sales acknowledged by the service and ${this.#sales.floor} by the floors are stored once each`,
    )
  }
}

const STORED = `
  select (select count(*) from read.sales) as service_sales,
    (select count(*) from ledger.events where type in ('SaleCompleted', 'OfflineSaleCompleted')) as service_events,
    (select count(*) from ops.idempotent_answers) as service_answers,
    (select sum($1::numeric - stock)::bigint from read.item_stocks) as service_units,
    (select count(*) from floor.sales) as floor_sales,
    (select count(*) from floor.events) as floor_events,
    (select count(*) from floor.idempotent_answers) as floor_answers,
    (select sum($1::numeric - stock)::bigint from floor.catalog_items) as floor_units`
