import { expect } from 'chai'
import { v7 as uuidv7 } from 'uuid'
import { createStore } from '#commands/store-commands.ts'
import { isRefusal } from '#ledger/command.ts'
import type { Answer } from '#ledger/write/idempotency.ts'
import { asApiKey } from '#ledger/write/run.ts'
import type { Writer } from '#ledger/write/writer.ts'
import { payOrder } from '#payments/pay-order.ts'
import type { OrderObject } from '#projections/orders.ts'
import { type Json, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { createMemoryProvider, type MemoryProvider } from '../support/memory-provider.ts'
import { until } from '../support/wait.ts'

const card = { method: 'card', brand: 'visa', token: 'card-token', payer: { email: 'ana@example.com' } } as const

/** Simulated crashes: before and after each step. */
type CrashPoint = 'before start' | 'after start' | 'before charge' | 'after charge' | 'before record' | 'after record'

const crash = (): never => {
  throw new Error('crash')
}

describe('interrupted payment', () => {
  const database = useDatabase()
  let api: TestApi
  let company: TestCompany
  let provider: MemoryProvider
  let orders = 0

  before(async () => {
    provider = createMemoryProvider()
    // One connection for all reads: holding it during a provider call would block all others.
    api = await startApi(database.url, { provider, queryConnections: 1 })
    company = await api.company()
    await company.run(createStore, {
      alias: 'loja',
      commission_percentage: '5',
      sandbox: true,
      access_token: 'TEST-token',
    })
  })
  beforeEach(() => {
    provider.payments.length = 0
    provider.calls.length = 0
    provider.status = 'approved'
  })
  after(() => api.close())

  const place = async (): Promise<number> => {
    const items = [{ description: 'Cesta', quantity: '1', unit_price: '100.00' }]
    const order = { store_alias: 'loja', external_id: `pedido-${++orders}`, customer: { name: 'Ana' }, items }
    const reply = await company.post('/orders', order)
    expect(reply.status, reply.text).to.equal(201)
    return reply.body.data.id
  }

  /** Writer that crashes before or after its n-th unit of work. */
  function dyingWriter(unit: number, when: 'before' | 'after'): Writer {
    let units = 0
    return {
      ...api.core.writer,
      async around(_request, write) {
        units += 1
        if (units === unit && when === 'before') crash()
        const answer = await write()
        return units === unit ? crash() : answer
      },
    }
  }

  function writerUntil(point: CrashPoint): Writer {
    if (point === 'before start') return dyingWriter(1, 'before')
    if (point === 'after start') return dyingWriter(1, 'after')
    if (point === 'before record') return dyingWriter(2, 'before')
    if (point === 'after record') return dyingWriter(2, 'after')
    return api.core.writer
  }

  const pay = (orderId: number, key: string, writer: Writer = api.core.writer) =>
    payOrder(
      { pool: api.core.pool, vault: api.core.vault, writer, provider, publicUrl: 'https://tillbook.example' },
      {
        acting: asApiKey({ companyId: company.id, keyId: 1 }, uuidv7()),
        idempotency: { key, requestHash: 'a'.repeat(64) },
        orderId,
        payment: card,
      },
    )

  for (const point of [
    'before start',
    'after start',
    'before charge',
    'after charge',
    'before record',
    'after record',
  ] as const) {
    it(`${point}: is completed by a repeated request, and charges once [PAY-3]`, async () => {
      const id = await place()
      if (point === 'before charge') provider.twist(crash)
      if (point === 'after charge') {
        provider.twist((charge) => {
          charge()
          return crash()
        })
      }
      const ended = await pay(id, point, writerUntil(point)).catch((error: Error) => error.message)
      expect(ended).to.equal('crash')
      const answer = (await pay(id, point)) as Answer
      expect(isRefusal(answer)).to.equal(false)
      expect(answer).to.include({ outcome: 'created', replayed: point === 'after record' })
      expect(provider.payments).to.have.length(1)
      const order = answer.record as OrderObject
      expect(order).to.include({ status: 'paid' })
      expect(order.payments).to.have.length(1)
      expect((await company.get(`/orders/${id}`)).body.data).to.deep.equal(order)
    })
  }

  it('provider calls hold no connection: other requests continue beside 20 of them [PAY-7]', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, place))
    let open: () => void = () => {}
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    for (const _ of ids) provider.twist(async (charge) => gate.then(charge))
    const paying = ids.map((id) => company.post(`/orders/${id}/payments`, card, { 'idempotency-key': `k-${id}` }))
    await until(() => provider.calls.length === ids.length)
    const listed = await company.get(`/orders?status=pending&limit=200`)
    expect(listed.body.data.map((order: Json) => order.id)).to.include.members(ids)
    expect(await place()).to.be.a('number')
    open()
    const replies = await Promise.all(paying)
    expect(replies.map(({ status, body }) => [status, body.data.status])).to.deep.equal(ids.map(() => [201, 'paid']))
  })
})
