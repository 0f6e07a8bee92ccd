import { expect } from 'chai'
import { createCustomer } from '#commands/people/customers.ts'
import { registerSale } from '#commands/sales/register-sale.ts'
import { expectProblem } from '../../support/answers.ts'
import { useOutbox } from './outbox.ts'

describe('webhook outbox', () => {
  const { api, company, asRegistrar, register, queued, customer } = useOutbox()

  it('has what the GET of the record answers, when and whence [HOOK-9]', async () => {
    const webhook = await register()
    const reply = await company.post('/customers', { name: 'Ana', phone: '11 91234-0001' })
    const [delivery, ...others] = await queued(webhook)
    expect(others).to.deep.equal([])
    const revision = Number(reply.headers.get('x-ledger-revision'))
    expect(delivery).to.include({ event: 'customer.created', revision, sequence: 1, replay: false, status: 'pending' })
    const { id } = reply.body.data
    const { data } = (await company.get(`/customers/${id}`)).body
    const body = JSON.parse(delivery?.body ?? '')
    expect(Object.keys(body)).to.deep.equal(['event', 'occurred_at', 'origin', 'data'])
    expect(body).to.deep.equal({ event: 'customer.created', occurred_at: data.created_at, origin: 'api', data })
  })

  it('tells every outbound event of the contract, once, with the record as it is then [HOOK-7, HOOK-8]', async () => {
    const webhook = await register()
    const cash = await company.paymentType('cash')
    const client = await customer('Ana')
    await company.call('PATCH', `/customers/${client.id}`, { notes: 'cliente antiga' })
    const item = (await company.post('/catalog/items', { name: 'Café', price: '10.00', stock: '5' })).body.data
    await company.call('PATCH', `/catalog/items/${item.id}`, { price: '12.00', stock: '9' })
    const changed = (await company.get(`/catalog/items/${item.id}`)).body.data
    const account = { description: 'Conta', amount: '10.00', due_date: '2020-01-31' }
    const receivable = (await company.post('/finance/receivables', account)).body.data
    const overdue = (await company.get(`/finance/receivables/${receivable.id}`)).body.data
    const payable = (await company.post('/finance/payables', account)).body.data
    const settle = (side: string, id: number) =>
      company.post(`/finance/${side}/${id}/settle`, { payment_method: 'pix' }, { 'idempotency-key': side })
    await settle('receivables', receivable.id)
    await settle('payables', payable.id)
    const sold = await company.post('/sales', {
      items: [{ catalog_item_id: item.id, quantity: '2' }],
      payments: [{ payment_type_id: cash, amount: '24.00' }],
    })
    const sale = (await company.get(`/sales/${sold.body.data.id}`)).body.data
    await company.post(`/sales/${sale.id}/cancel`, { reason: 'engano' })
    const told = await queued(webhook)
    expect(told.map(({ event }) => event)).to.deep.equal([
      'customer.created',
      'customer.updated',
      'catalog_item.created',
      'catalog_item.updated',
      'receivable.created',
      'receivable.settled',
      'payable.settled',
      'sale.completed',
      'sale.cancelled',
    ])
    expect(told.map(({ sequence }) => sequence)).to.deep.equal([1, 2, 3, 4, 5, 6, 7, 8, 9])
    const data = told.map(({ body }) => JSON.parse(body).data)
    // Price and stock of the same call, though the ledger holds two events.
    expect(data[3]).to.deep.equal(changed)
    expect(data[4]).to.deep.equal(overdue)
    expect(data[5].status).to.equal('settled')
    expect(data[7]).to.deep.equal(sale)
    expect(data[8]).to.deep.equal((await company.get(`/sales/${sale.id}`)).body.data)
  })

  it('tells of other channels whence they are [HOOK-7]', async () => {
    const webhook = await register()
    await company.run(createCustomer, { name: 'Bia' } as never, 'system')
    const cash = await company.paymentType('cash')
    const lines = [{ description: 'Bolo', quantity: '1', unit_price: '10.00' }]
    await company.run(registerSale, { items: lines, payments: [{ payment_type_id: cash, amount: '10.00' }] }, 'pdv')
    expect((await queued(webhook)).map(({ body }) => JSON.parse(body).origin)).to.deep.equal(['system', 'pdv'])
  })

  it('asks no address for what it does not want, is off, or did itself [HOOK-10]', async () => {
    const sales = await register(['sale.completed'])
    const off = await register()
    await asRegistrar('POST', `/webhooks/${off}/disable`)
    const all = await register()
    await customer('Ana')
    const own = await asRegistrar('POST', '/customers', { name: 'Feita por quem registrou' })
    expect(own.status).to.equal(201)
    expect(await queued(sales)).to.deep.equal([])
    expect(await queued(off)).to.deep.equal([])
    expect((await queued(all)).map(({ body }) => JSON.parse(body).data.name)).to.deep.equal(['Ana'])
  })

  it('numbers deliveries of an address without gaps, also when many are made at once [HOOK-16]', async () => {
    const webhook = await register()
    const names = Array.from({ length: 40 }, (_, index) => `Cliente ${index}`)
    const items = names.map((name, index) => ({ name: `${name} do lote`, external_id: `l-${index}` }))
    await Promise.all([...names.map(customer), company.post('/customers/batch', { items })])
    const told = await queued(webhook)
    expect(told.map(({ sequence }) => sequence)).to.deep.equal(Array.from({ length: 80 }, (_, index) => index + 1))
    const revisions = told.map(({ revision }) => revision ?? 0)
    expect(revisions).to.deep.equal([...revisions].sort((a, b) => a - b))
  })

  it('says nothing of what is refused, changes nothing, or is deleted [HOOK-8]', async () => {
    const { id } = await customer('Ana')
    const webhook = await register()
    expectProblem(await company.post('/customers', { name: 'ana' }), 409, 'duplicate_resource')
    await company.call('PATCH', `/customers/${id}`, { name: 'Ana' })
    await company.call('DELETE', `/customers/${id}`)
    expect(await queued(webhook)).to.deep.equal([])
  })

  it('is not filled again by a rebuild [HOOK-11]', async () => {
    const webhook = await register()
    await customer('Ana')
    const before = await queued(webhook)
    await api.core.rebuild()
    expect(await queued(webhook)).to.deep.equal(before)
    await customer('Bia')
    expect((await queued(webhook)).map(({ sequence }) => sequence)).to.deep.equal([1, 2])
  })

  it('keeps no messages for a company without addresses', async () => {
    await customer('Ana')
    const { rows } = await api.core.pool.query('select 1 from webhook_messages where company_id = $1', [company.id])
    expect(rows).to.deep.equal([])
  })
})
