import { expect } from 'chai'
import { startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { openWorkplace, type Workplace } from '../support/guide.ts'
import { snippetsOf } from '../support/snippets.ts'

const snippets = snippetsOf('docs/integrators.md')
const scripts = snippets.filter(({ language }) => language === 'bash')
const programs = snippets.filter(({ language }) => language === 'ts')

describe('the guide for integrators', () => {
  const database = useDatabase()
  let api: TestApi
  let company: TestCompany
  let workplace: Workplace
  let deleteAfterFirstSync: () => Promise<unknown>

  before(async () => {
    api = await startApi(database.url)
    company = await api.company()
    await company.paymentType('card', '2.50')
    await company.paymentType('cash')
    const items = Array.from({ length: 250 }, (_, n) => ({ external_id: `old-${n}`, name: `Cliente ${n}` }))
    expect((await company.post('/customers/batch', { items })).status).to.equal(200)
    workplace = await openWorkplace({ BASE: api.url, KEY: company.key })
  })
  after(async () => {
    await api.close()
    await workplace.close()
  })

  it('has snippets in both languages for every task', () => {
    const syncing = ['First sync', 'Incremental sync', 'Deletions', 'Batches']
    const tasks = [...syncing, 'Idempotency and retries', 'Accounts', 'Errors']
    for (const list of [scripts, programs]) expect(list.map(({ heading }) => heading)).to.include.members(tasks)
  })

  describe('with curl', () => {
    before('a deletion to be found', async () => {
      const { id } = (await company.post('/customers', { name: 'Some depois', external_id: 'gone' })).body.data
      deleteAfterFirstSync = () => company.call('DELETE', `/customers/${id}`)
    })

    for (const [position, { heading, text }] of scripts.entries()) {
      it(`${position + 1}. ${heading} [OPS-17]`, async () => {
        if (heading === 'Incremental sync') await deleteAfterFirstSync()
        const { stdout } = await workplace.bash(text)
        expect(stdout).to.match(EXPECTED[heading] ?? /./)
      })
    }
  })

  describe('with TypeScript', () => {
    before(() => workplace.write(programs))

    const namesInCopy = async (): Promise<string[]> => {
      const { customers } = await workplace.readJson<{ customers: { name: string }[] }>('copy.json')
      return customers.map(({ name }) => name)
    }
    const namesInService = async (): Promise<string[]> => {
      const first = (await company.get('/customers?limit=200')).body
      const second = (await company.get(`/customers?limit=200&cursor=${first.meta.next_cursor}`)).body
      return [...first.data, ...second.data].map(({ name }) => name)
    }

    it('compiles strictly [OPS-17]', () => workplace.compile())

    it('copies all customers, then what was created, changed and deleted', async () => {
      await workplace.runProgram('first-sync.ts')
      expect(await namesInCopy()).to.have.members(await namesInService())
      const [gone] = (await company.get('/customers?external_id=old-7')).body.data
      await company.call('DELETE', `/customers/${gone.id}`)
      await company.call('PATCH', `/customers/${gone.id + 1}`, { name: 'Renomeado' })
      await company.post('/customers', { name: 'Nova' })
      await workplace.runProgram('incremental-sync.ts')
      const names = await namesInCopy()
      expect(names).to.have.members(await namesInService())
      expect(names).to.include.members(['Nova', 'Renomeado']).and.not.include('Cliente 7')
    })

    it('writes 700 items in two batches', async () => {
      expect((await workplace.runProgram('batch.ts')).stderr).to.equal('')
      expect((await company.get('/catalog/items?external_id=SKU-699')).body.data).to.have.length(1)
    })

    it('sells once, however often it asks', async () => {
      expect((await workplace.runProgram('sale.ts')).stdout).to.include("change: '1.10'")
      expect((await company.get('/sales?external_id=PEDIDO-1002')).body.data).to.have.length(1)
    })

    it('settles an account that was overdue', async () => {
      expect((await workplace.runProgram('accounts.ts')).stdout).to.equal('NF-4711 was due on 2020-01-10\n')
      const [payable] = (await company.get('/finance/payables?external_id=NF-4711')).body.data
      expect(payable).to.include({ status: 'settled', is_overdue: false })
    })

    it('recognises an error by its code', async () => {
      expect((await workplace.runProgram('errors.ts')).stdout).to.match(/^is customer \d+\n$/)
    })
  })
})

/** What the output of a script shows when it did what its section says. */
const EXPECTED: Readonly<Record<string, RegExp>> = {
  'Less on the wire': /^304$/m,
  'Who am I': /"company": "Loja \d+"[\s\S]*"catalog:read"/,
  'First sync': /^251 customers\.jsonl$/m,
  'Incremental sync': /^\d+$/m,
  Deletions: /^\{"id":\d+,"external_id":"gone","deleted_at":"[^"]+"\}$/m,
  'Your records into the service': /^\d+$/m,
  Batches: /^1\n\{"index":1,"external_id":"CAFE-250","code":"validation_failed","fields":\{"price":/m,
  'Idempotency and retries': /^(\{"id":\d+,"total":"37\.80","change":"12\.20"\}\n)\1Idempotent-Replayed: true/im,
  'Fiscal documents': /^\{"number":"1234","status":"authorized"\}$/m,
  Accounts: /^\{"status":"settled","payment_method":"pix"\}$/m,
  Errors: /"unknown_fields": \[\s+"nome"/,
  Quotas: /^X-RateLimit-Remaining: \d+/im,
}
