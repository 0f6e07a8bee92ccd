import { expect } from 'chai'
import { figuresIn } from '../figures/parse.ts'
import { ownerUrlOf } from '../support/database.ts'
import { type DatabaseClock, openDatabaseClock } from '../support/database-clock.ts'
import { panelUser } from '../support/panel.ts'
import { OWN_DATABASE, useApi } from '../support/use-api.ts'

describe('overdue accounts', () => {
  const api = useApi(OWN_DATABASE)
  let clock: DatabaseClock

  before(async () => {
    clock = await openDatabaseClock(ownerUrlOf(api.databaseUrl))
  })
  after(() => clock.close())

  it("are those before the company's day, by the clock of its events, in API and panel [FIG-800]", async () => {
    await clock.moveTo('2026-03-10T15:00:00Z')
    const company = await api.company()
    await company.post('/finance/receivables', { description: 'Fiado', amount: '10.00', due_date: '2026-03-11' })
    const overdue = async () => {
      const list = (await company.get('/finance/receivables?status=overdue')).body.data
      const { receivables } = (await company.get('/finance/summary?from=2026-03-01&to=2026-03-31')).body.data
      const user = await panelUser(api, company)
      const page = figuresIn((await user.get('/painel/contas-a-receber?view=overdue')).html)
      return [list.length, receivables.overdue.count, page['lista.em-aberto'] ?? 0]
    }
    // In São Paulo it is still the 11th.
    await clock.moveTo('2026-03-12T02:30:00Z')
    expect(await overdue()).to.deep.equal([0, 0, 0])
    await clock.moveTo('2026-03-12T03:30:00Z')
    expect(await overdue()).to.deep.equal([1, 1, 10])
  })
})
