import { expect } from 'chai'
import { forgetPerson } from '#commands/forget-person.ts'
import { createUser } from '#commands/user-commands.ts'
import { htmlWriter, jsonWriter } from '#panel/person-file.ts'
import { type ExportedPerson, type ExportPart, exportPersonData } from '#privacy/data-export.ts'
import { type Json, send, type TestCompany } from '../support/api.ts'
import { HOSTILE, panelUser } from '../support/panel.ts'
import { cheapHash } from '../support/passwords.ts'
import { OWN_DATABASE, useApi } from '../support/use-api.ts'

const NOW = '2026-11-22T12:00:00.000Z'
const CPF = '52998224725'

describe('data export of a person', () => {
  const api = useApi()
  let company: TestCompany
  let customer: number

  before(async () => {
    company = await api.company()
    const created = await company.post('/customers', {
      name: `Ana ${HOSTILE}`,
      document: CPF,
      phone: '11987654321',
      notes: 'prefere de manhã',
    })
    customer = created.body.data.id
    await company.call('PATCH', `/customers/${customer}`, { phone: '11912345678' })
    const cash = await company.paymentType('cash')
    const item = (await company.post('/catalog/items', { name: 'Café', price: '10.00', stock: '1000' })).body.data.id
    const sell = (customer_id: number | null, payment_type_id: number) =>
      company.post('/sales', {
        ...(customer_id !== null && { customer_id }),
        items: [{ catalog_item_id: item, quantity: '1' }],
        payments: [{ payment_type_id, amount: '10.00' }],
      })
    // Another key: a webhook of the acting key would not receive its own events.
    const { key } = await company.newKey(['webhooks:manage', 'sales:read'])
    const listening = { url: 'http://127.0.0.1:9/', events: ['sale.completed'] }
    await company.post('/webhooks', listening, { authorization: `Bearer ${key}` })
    const first = (await sell(customer, cash)).body.data.id
    await company.post(`/sales/${first}/cancel`, { reason: 'Desistiu' })
    const second = (await sell(customer, cash)).body.data.id
    const credit = await company.paymentType('exchange_credit')
    const returned = {
      reason: 'Rasgado',
      items: [{ line: 0, quantity: '1' }],
      refunds: [{ payment_type_id: credit, amount: '10.00' }],
    }
    const back = await company.post(`/sales/${second}/returns`, returned, { 'idempotency-key': 'troca-1' })
    expect(back.status, back.text).to.equal(201)
    await company.post('/finance/receivables', {
      customer_id: customer,
      description: 'Fiado',
      amount: '10.00',
      due_date: '2026-12-01',
    })
    await sell(null, cash)
    await company.call('PATCH', `/customers/${customer}`, { email: 'ana@example.com' })
    await company.call('DELETE', `/customers/${customer}?force=true`)
  })

  async function written(person: ExportedPerson, write: (piece: ExportPart) => string): Promise<string> {
    const pieces = await exportPersonData(api.core, company.id, person, NOW)
    let text = ''
    for await (const piece of pieces ?? []) text += write(piece)
    return text
  }
  const types = (held: Json) => held.events.map(({ type }: Json) => type)

  it('of a customer contains the record with its sales, accounts and all their events [PRIV-50]', async () => {
    const file = JSON.parse(await written({ kind: 'customer', id: customer }, jsonWriter()))
    expect(file).to.include({ subject: `customer/${customer}`, exported_at: NOW, access: null })
    expect(types(file)).to.deep.equal(['CustomerCreated', 'CustomerUpdated', 'CustomerUpdated', 'CustomerDeleted'])
    expect(file.events[0].data).to.include({ document: CPF, phone: '11987654321', notes: 'prefere de manhã' })
    expect(file.events[1]).to.deep.include({ origin: 'api', subject: `customer/${customer}` })
    expect(file.events[1].actor).to.match(/^api_key\//)
    expect(file.events[1].actor_name).to.match(/^Chave /)
    expect(file.sales.map(types)).to.deep.equal([
      ['SaleCompleted', 'SaleCancelled'],
      ['SaleCompleted', 'SaleReturned'],
    ])
    expect(file.sales[0].record).to.include({ status: 'cancelled', total: '10.00' })
    expect(file.receivables.map(types)).to.deep.equal([['ReceivableCreated']])
    expect(file.store_credit.map(types)).to.deep.equal([['SaleReturned']])
    expect(file.store_credit[0].record).to.include({ kind: 'return', amount: '10.00', balance: '10.00' })
    expect(file.webhooks).to.deep.equal({ messages: 7, deliveries: 2, addresses: 1 })
  })

  it('is a page in Portuguese that loads and runs nothing, for any data [PRIV-50]', async () => {
    const html = await written({ kind: 'customer', id: customer }, htmlWriter())
    expect(html).to.include('<html lang="pt-BR">').and.to.include("default-src 'none'; style-src 'sha256-")
    expect(html).to.include('Cliente criado').and.to.include('529.982.247-25').and.to.include('R$\u00A010,00')
    expect(html).to.not.match(/<(script|img|link|iframe)|<[^>]*\son\w+=/i)
    expect(html).to.include('&lt;script&gt;')
  })

  it('of a user contains sessions, logins and the user’s sales, and no other list [PRIV-50]', async () => {
    const user = await panelUser(api, company)
    const file = JSON.parse(await written({ kind: 'user', id: user.id }, jsonWriter()))
    expect(types(file)).to.deep.equal(['UserCreated'])
    expect(file.access.sessions).to.have.length(1)
    expect(file.sales).to.deep.equal([])
    expect(file).to.not.have.any.keys('receivables', 'payables', 'orders', 'store_credit')
  })

  it('is empty for an unknown person, and contains no other person [PRIV-51]', async () => {
    const other = await api.company()
    expect(await exportPersonData(api.core, other.id, { kind: 'customer', id: customer }, NOW)).to.equal(null)
    expect(await exportPersonData(api.core, company.id, { kind: 'supplier', id: customer }, NOW)).to.equal(null)
  })

  it('can be downloaded by owners only [PRIV-51]', async () => {
    const owner = await panelUser(api, company)
    const path = `/painel/dados-pessoais/customer/${customer}`
    const json = await owner.get(`${path}/json`)
    expect(json.status).to.equal(200)
    expect(json.headers.get('content-disposition')).to.equal(`attachment; filename="customer-${customer}.json"`)
    expect(JSON.parse(json.html).sales).to.have.length(2)
    expect((await owner.get(`${path}/html`)).html).to.include('</html>')
    expect((await owner.get(`${path}/pdf`)).status).to.equal(404)
    expect((await (await panelUser(api, company, 'clerk')).get(`${path}/json`)).status).to.equal(403)
    expect((await (await panelUser(api, await api.company())).get(`${path}/json`)).status).to.equal(404)
  })
})

describe('the login of an erased user', () => {
  const api = useApi(OWN_DATABASE)
  const [email, password] = ['zuleica@duas.example', 'uma senha comprida']

  const logIn = async () => (await send(`${api.url}/api/auth/login`, 'POST', { email, password })).status
  const forget = (company: TestCompany, id: number) =>
    company.run(forgetPerson, { kind: 'user', id, ground: 'holder_request', retention_years: 5 })

  it('ends in the company at once, and is deleted with the last company of the address [PRIV-36]', async () => {
    const companies = [await api.company(), await api.company()] as const
    const ids: number[] = []
    const password_hash = await cheapHash(password)
    for (const company of companies)
      ids.push((await company.run(createUser, { name: 'Zuleica', email, role: 'clerk', password_hash })).id)
    const login = { email, password, company_id: companies[0].id }
    const { body } = await send(`${api.url}/api/auth/login`, 'POST', login)
    const known = async () => {
      const { rows } = await api.core.pool.query<{ known: string }>(
        `select 'login' as known from ops.persons where email = $1
         union all select 'origin' from ops.login_origins
         union all select 'token' from ops.sync_tokens where revoked_at is null and company_id = $2`,
        [email, companies[0].id],
      )
      return [...new Set(rows.map(({ known }) => known))].sort()
    }
    expect(body.data.token).to.be.a('string')
    expect(await known()).to.deep.equal(['login', 'origin', 'token'])

    await forget(companies[0], ids[0] as number)
    expect(await known()).to.deep.equal(['login', 'origin'])
    expect(await logIn()).to.equal(200)
    await forget(companies[1], ids[1] as number)
    expect(await known()).to.deep.equal([])
    expect(await logIn()).to.equal(401)
  })
})
