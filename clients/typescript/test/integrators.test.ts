import { type ChildProcess, spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { expect } from 'chai'
import { freePort } from '../../../src/postgres/embedded.ts'
import { startApi, type TestApi, type TestCompany } from '../../../test/support/api.ts'
import { useDatabase } from '../../../test/support/database.ts'
import { openWorkplace, type Workplace } from '../../../test/support/guide.ts'
import { TEST_SETTINGS } from '../../../test/support/program.ts'
import { snippetsOf } from '../../../test/support/snippets.ts'
import { until } from '../../../test/support/wait.ts'

const snippets = snippetsOf('docs/integrators.md')
const BEGINNING = 'Ten minutes'
const scripts = snippets.filter(({ language }) => language === 'bash')
const programs = snippets.filter(({ language }) => language === 'ts')

describe('the guide for integrators', () => {
  const database = useDatabase()
  let api: TestApi
  let company: TestCompany
  let workplace: Workplace
  let env: Record<string, string>
  let deleteAfterFirstSync: () => Promise<unknown>

  before(async () => {
    api = await startApi(database.url)
    company = await api.company()
    await company.paymentType('card', '2.50')
    await company.paymentType('cash')
    const items = Array.from({ length: 250 }, (_, n) => ({ external_id: `old-${n}`, name: `Cliente ${n}` }))
    expect((await company.post('/customers/batch', { items })).status).to.equal(200)
    env = {
      BASE: api.url,
      KEY: company.key,
      TILLBOOK: resolve('.'),
      SECRET: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
      PORT: String(await freePort(null)),
      ...npmSettings(),
    }
    workplace = await openWorkplace(env)
  })
  after(async () => {
    await api.close()
    await workplace.close()
  })

  it('has snippets in both languages for every task', () => {
    const syncing = ['First sync', 'Incremental sync', 'Deletions']
    const tasks = [BEGINNING, 'Batches', 'Idempotency and retries', 'Accounts', 'Errors']
    expect(scripts.map(({ heading }) => heading)).to.include.members([...syncing, ...tasks])
    expect(programs.map(({ heading }) => heading)).to.include.members(['The three in one', ...tasks])
  })

  describe('section "ten minutes"', () => {
    const steps = scripts.filter(({ heading }) => heading === BEGINNING).map(({ text }) => text)
    const [whoAmI = '', install = '', sell = '', receive = '', listen = '', sellAgain = ''] = steps
    const terminals: ChildProcess[] = []
    after(() => {
      for (const { pid = 0 } of terminals) process.kill(-pid)
    })

    /** Step that keeps running in its own terminal: returns its output. */
    function terminal(script: string): () => string {
      const child = spawn('bash', ['--norc', '-euo', 'pipefail', '-c', script], {
        cwd: workplace.directory,
        env: { PATH: process.env.PATH, ...TEST_SETTINGS, ...env },
        detached: true,
      })
      terminals.push(child)
      let output = ''
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (text) => {
          output += text
        })
      return () => output
    }

    it('has its number of steps, each tested here', () => {
      expect(steps).to.have.length(6)
    })

    it('identifies the company of a key, and installs the client [OPS-17]', async () => {
      const { stdout } = await workplace.bash(whoAmI)
      expect(stdout).to.match(/"company": "Loja \d+"[\s\S]*"catalog:read"/)
      await workplace.bash(install)
      await workplace.write(programs)
    })

    it('makes a sale, and receives its webhook on this machine [OPS-17]', async () => {
      const received = terminal(receive)
      await until(() => received().includes('ready'), { what: 'the receiver' })
      const listener = terminal(listen)
      await until(() => listener().includes('Listening to Loja'), { what: 'the listener' })
      const [first, second] = [(await workplace.bash(sell)).stdout, (await workplace.bash(sellAgain)).stdout]
      expect(first).to.equal('sale 1: 10.00, change 10.00\n')
      expect(second).to.equal('sale 2: 10.00, change 10.00\n')
      await until(() => received().includes('sale.completed 2\n'), { what: 'the webhook' })
      await until(() => /^sale\.completed #\d+ -> 204 \(\d+ ms\)$/m.test(listener()), {
        what: 'the line of the listener',
      })
    })
  })

  describe('with curl', () => {
    before('a deletion to be found', async () => {
      const { id } = (await company.post('/customers', { name: 'Some depois', external_id: 'gone' })).body.data
      deleteAfterFirstSync = () => company.call('DELETE', `/customers/${id}`)
    })

    for (const [position, { heading, text }] of scripts.entries()) {
      if (heading === BEGINNING) continue
      it(`${position + 1}. ${heading} [OPS-17]`, async () => {
        if (heading === 'Incremental sync') await deleteAfterFirstSync()
        const { stdout } = await workplace.bash(text)
        expect(stdout).to.match(EXPECTED[heading] ?? /./)
      })
    }
  })

  describe('with TypeScript', () => {
    const namesInCopy = async (): Promise<string[]> => {
      const { customers } = await workplace.readJson<{ customers: Record<string, { name: string }> }>('copy.json')
      return Object.values(customers).map(({ name }) => name)
    }
    const namesInService = async (): Promise<string[]> => {
      const first = (await company.get('/customers?limit=200')).body
      const second = (await company.get(`/customers?limit=200&cursor=${first.meta.next_cursor}`)).body
      return [...first.data, ...second.data].map(({ name }) => name)
    }

    it('compiles strictly [OPS-17]', () => workplace.compile())

    it('copies all customers, then what was created, changed and deleted', async () => {
      await workplace.runProgram('sync.ts')
      expect(await namesInCopy()).to.have.members(await namesInService())
      const [gone] = (await company.get('/customers?external_id=old-7')).body.data
      await company.call('DELETE', `/customers/${gone.id}`)
      await company.call('PATCH', `/customers/${gone.id + 1}`, { name: 'Renomeado' })
      await company.post('/customers', { name: 'Nova' })
      await workplace.runProgram('sync.ts')
      const names = await namesInCopy()
      expect(names).to.have.members(await namesInService())
      expect(names).to.include.members(['Nova', 'Renomeado']).and.not.include('Cliente 7')
    })

    it('writes 700 items in two batches', async () => {
      expect((await workplace.runProgram('batch.ts')).stderr).to.equal('')
      expect((await company.get('/catalog/items?external_id=SKU-699')).body.data).to.have.length(1)
    })

    it('registers one sale for several attempts', async () => {
      expect((await workplace.runProgram('sale.ts')).stdout).to.include("change: '1.10'")
      expect((await company.get('/sales?external_id=PEDIDO-1002')).body.data).to.have.length(1)
    })

    it('settles an overdue account', async () => {
      expect((await workplace.runProgram('accounts.ts')).stdout).to.equal('NF-4711 was due on 2020-01-10\n')
      const [payable] = (await company.get('/finance/payables?external_id=NF-4711')).body.data
      expect(payable).to.include({ status: 'settled', is_overdue: false })
    })

    it('recognises an error by its code', async () => {
      expect((await workplace.runProgram('errors.ts')).stdout).to.match(/^is customer \d+\n$/)
    })
  })
})

/** Expected output of each script. */
const EXPECTED: Readonly<Record<string, RegExp>> = {
  'Less on the wire': /^304$/m,
  'First sync': /^251 customers\.jsonl$/m,
  'Incremental sync': /^\d+$/m,
  Deletions: /^\{"id":\d+,"external_id":"gone","deleted_at":"[^"]+"\}$/m,
  'Your records into the service': /^\d+$/m,
  Batches: /^1\n\{"index":1,"external_id":"CAFE-250","code":"validation_failed","fields":\{"price":/m,
  'Idempotency and retries': /^(\{"id":\d+,"total":"37\.80","change":"12\.20"\}\n)\1Idempotent-Replayed: true/im,
  'Fiscal documents': /^\{"number":"1234","status":"authorized"\}$/m,
  Accounts: /^\{"status":("settled","payment_method":"pix"|"pending","open_amount":"33\.34")\}$/m,
  Errors: /"unknown_fields": \[\s+"nome"/,
  Quotas: /^X-RateLimit-Remaining: \d+/im,
}

/** npm settings: packages of the client and of the product are taken from this machine. */
function npmSettings(): Record<string, string> {
  const own = Object.entries(process.env).filter(([name]) => /^npm_config_(?!.*prefix)/i.test(name))
  return {
    ...(Object.fromEntries(own) as Record<string, string>),
    HOME: process.env.HOME ?? '',
    npm_config_prefer_offline: 'true',
    npm_config_audit: 'false',
    // The client was built for the tests.
    npm_config_ignore_scripts: 'true',
  }
}
