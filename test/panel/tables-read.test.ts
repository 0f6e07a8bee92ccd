import { expect } from 'chai'
import pg from 'pg'
import type { Role } from '#domain/rights.ts'
import { PANEL_ROUTES } from '#panel/routes.ts'
import type { SentStatement } from '#queries/reader.ts'
import { ruleOf } from '#queries/tables.ts'
import { openCounter } from '../support/offline-sales.ts'
import { panelUser } from '../support/panel.ts'
import { useCompany } from '../support/use-api.ts'

type Plan = { readonly [name: string]: unknown }

/** Tables in a plan. */
function* relationsOf(plan: unknown): Iterable<string> {
  if (Array.isArray(plan)) for (const each of plan) yield* relationsOf(each)
  else if (plan !== null && typeof plan === 'object') {
    if (typeof (plan as Plan)['Relation Name'] === 'string') yield (plan as Plan)['Relation Name'] as string
    for (const value of Object.values(plan)) yield* relationsOf(value)
  }
}

describe('panel: tables that pages read', function () {
  // All pages, for all roles.
  this.timeout(300_000)
  const { api, company } = useCompany()
  const { query } = pg.Client.prototype
  const sent = new Map<string, SentStatement>()

  before(async () => {
    const counter = await openCounter(company)
    const customer = (await company.post('/customers', { name: 'Maria' })).body.data.id
    const sale = await counter.sell({
      customer_id: customer,
      items: [{ catalog_item_id: counter.product, quantity: '1', unit_price: '9.00' }],
      payments: [{ payment_type_id: counter.cash, amount: '9.00' }],
    })
    const ids: Readonly<Record<string, number>> = {
      '/clientes': customer,
      '/catalogo': counter.product,
      '/vendas': sale.id as number,
    }
    const roles: readonly Role[] = ['owner', 'manager', 'clerk', 'accountant', 'auditor']
    const users = []
    for (const role of roles) users.push(await panelUser(api, company, role))
    Object.assign(pg.Client.prototype, {
      query(this: pg.Client, statement: unknown, ...rest: never[]) {
        const asked = statement as Partial<SentStatement>
        if (asked?.tables && asked.text) sent.set(asked.text, asked as SentStatement)
        return (query as (...all: unknown[]) => unknown).call(this, statement, ...rest)
      },
    })
    for (const route of PANEL_ROUTES.filter((each) => 'show' in each || 'table' in each)) {
      const [section = ''] = /^\/\w+/.exec(route.path) ?? []
      if (route.path.includes(':') && !(section in ids)) continue
      for (const user of users) {
        const { status } = await user.get(`/painel${route.path.replace(':id', String(ids[section]))}`)
        expect(status, route.path).to.be.below(500)
      }
    }
  })
  after(() => {
    Object.assign(pg.Client.prototype, { query })
  })

  it('pages read the tables that their statements name by rules [ROLE-950]', async () => {
    expect(sent.size).to.be.above(150)
    for (const { text, tables } of sent.values()) {
      const { rows } = await api.core.pool.query<{ 'QUERY PLAN': unknown }>(
        `explain (generic_plan, format json) ${text}`,
      )
      const read = new Set(relationsOf(rows))
      for (const name of read) expect(() => ruleOf(name), text).not.to.throw()
      expect(tables, text).to.include.members([...read])
    }
  })
})
