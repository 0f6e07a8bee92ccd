import { createStore } from '#commands/store-commands.ts'
import { SCOPES } from '#domain/rights.ts'
import { startApi } from '../support/api.ts'
import { panelUser } from '../support/panel.ts'
import { openTill } from '../support/till.ts'

/** A company prepared for a run. */
export interface PlayedCompany {
  readonly companyId: number
  readonly databaseUrl: string
  readonly key: string
  /** Till token of a clerk. */
  readonly token: string
  /** Panel sessions of an owner and a clerk. */
  readonly cookies: readonly string[]
  /** Products for 10.00 by id with their opening stock; one of them sells out. */
  readonly products: ReadonlyMap<number, number>
  readonly cash: number
  readonly alias: string
  /** Webhook endpoint, registered by a key without other use. */
  readonly webhook: number
}

const PLENTY = 100_000
const FEW = 40

/** Creates companies with all data that a run needs. */
export async function openCompanies(databaseUrl: string, count: number, webhookUrl: string): Promise<PlayedCompany[]> {
  const office = await startApi(databaseUrl)
  try {
    const shops: PlayedCompany[] = []
    for (let n = 0; n < count; n++) {
      const company = await office.company()
      const products = new Map<number, number>()
      for (const [name, stock] of Object.entries({ Café: PLENTY, Bolo: PLENTY, Raro: FEW })) {
        const { id } = (await company.post('/catalog/items', { name, price: '10.00', stock: String(stock) })).body.data
        products.set(id, stock)
      }
      const listener = await company.newKey([...SCOPES])
      const registered = await company.post(
        '/webhooks',
        { url: webhookUrl, events: ['basic'] },
        { authorization: `Bearer ${listener.key}` },
      )
      if (registered.status !== 201) throw new Error(`no address was registered: ${registered.text}`)
      const alias = `loja-${company.id}`
      const access_token = `TEST-${company.id}`
      await company.run(createStore, { alias, commission_percentage: '5.00', sandbox: true, access_token })
      const till = await openTill(office.url, company)
      const cash = await company.paymentType('cash')
      const people = await Promise.all([panelUser(office, company), panelUser(office, company)])
      const cookies = people.map((person) => person.cookie())
      const { id: companyId, key } = company
      const { id: webhook } = registered.body.data
      shops.push({
        companyId,
        databaseUrl,
        key,
        token: till.token,
        cookies,
        products,
        cash,
        alias,
        webhook,
      })
    }
    return shops
  } finally {
    await office.close()
  }
}
