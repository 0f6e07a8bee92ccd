import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import type { Json, TestCompany } from '../support/api.ts'
import { contract, operations } from '../support/contract.ts'
import { useApi } from '../support/use-api.ts'

/** What differs from run to run: ids, and times of recording. */
const VARYING = /^(id|.*_id|created_at|updated_at|synced_at)$/

const steady = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(steady)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, VARYING.test(name) && each !== null ? '…' : steady(each)]),
  )
}

const requestOf = (id: string): Json => {
  const operation = operations.find((each) => each.id === id) as Json
  return operation.node.requestBody.content['application/json'].example
}

const answerOf = (component: string): Json => (contract.components as Json).schemas[component].examples[0]

describe('examples of the contract', () => {
  const api = useApi()
  let company: TestCompany

  beforeEach(async () => {
    company = await api.company()
  })

  const create = async (path: string, body: object): Promise<Json> => {
    const reply = await company.post(path, body)
    expect(reply.status, reply.text).to.equal(201)
    return reply.body.data
  }

  for (const [id, path, component] of [
    ['createCustomer', '/customers', 'Customer'],
    ['createSupplier', '/suppliers', 'Supplier'],
    ['createCategory', '/catalog/categories', 'Category'],
  ] as const)
    it(`are answers of the service: ${component} [HTTP-54]`, async () => {
      expect(steady(await create(path, requestOf(id)))).to.deep.equal(steady(answerOf(component)))
    })

  it('are answers of the service: a sale [HTTP-54]', async () => {
    const name = answerOf('Sale').payments[0].name
    const cash = await company.paymentType('cash')
    await create('/customers', { name: 'Maria da Silva', external_id: 'CLI-001' })
    const codes = { ncm: '09012100', cest: '1709600', origin: '0', cfop: '5102', csosn: '102' }
    await create('/catalog/items', { external_id: 'CAFE-500', name: 'Café torrado 500 g', price: '18.90', ...codes })
    const body = requestOf('createSale')
    const payments = body.payments.map((payment: Json) => ({ ...payment, payment_type_id: cash }))
    const sale = await create('/sales', { ...body, payments })
    // The item and its seller are younger than the sale of the example.
    const shown = { ...sale, warnings: [], payments: sale.payments.map((payment: Json) => ({ ...payment, name })) }
    expect(steady(shown)).to.deep.equal(steady(answerOf('Sale')))
  })

  it('are answers of the service: the sale of the README [HTTP-54]', async () => {
    const text = readFileSync('README.md', 'utf8')
    const [, request = '', answer = ''] =
      /Idempotency-Key: order-4711\n\n([\s\S]*?)\n\n201 Created\n\n([\s\S]*?), …\}\}\n/.exec(text) ?? []
    const shown = JSON.parse(`${answer}}}`).data
    const cash = await company.paymentType('cash')
    await create('/catalog/items', { external_id: 'cafe', name: 'Café torrado 500 g', price: '18.90', stock: '10' })
    const body = JSON.parse(request)
    const sale = await create('/sales', { ...body, payments: [{ ...body.payments[0], payment_type_id: cash }] })
    sale.payments[0].name = shown.payments[0].name
    for (const one of [sale, shown]) one.sold_at = '…'
    expect(steady(sale)).to.deep.include(steady(shown))
  })
})
