import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { snippetsOf } from '../support/snippets.ts'

const run = promisify(execFile)
const snippets = snippetsOf('docs/integrators.md')
const scripts = snippets.filter(({ language }) => language === 'bash')
const programs = snippets.filter(({ language }) => language === 'ts')

const TSX = import.meta.resolve('tsx')
const COMPILER_OPTIONS = {
  target: 'es2023',
  module: 'nodenext',
  strict: true,
  noUncheckedIndexedAccess: true,
  noEmit: true,
  allowImportingTsExtensions: true,
  types: ['node'],
  typeRoots: [resolve('node_modules/@types')],
}

describe('the guide for integrators', () => {
  const database = useDatabase()
  let api: TestApi
  let company: TestCompany
  let directory: string
  let env: NodeJS.ProcessEnv
  let deleteAfterFirstSync: () => Promise<unknown>

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tillbook-guide-'))
    api = await startApi(database.url)
    company = await api.company()
    await company.paymentType('card', '2.50')
    await company.paymentType('cash')
    const items = Array.from({ length: 250 }, (_, n) => ({ external_id: `old-${n}`, name: `Cliente ${n}` }))
    expect((await company.post('/customers/batch', { items })).status).to.equal(200)
    env = { PATH: process.env.PATH, BASE: api.url, KEY: company.key }
  })
  after(async () => {
    await api.close()
    await rm(directory, { recursive: true })
  })

  const inDirectory = (command: string, args: readonly string[]) => run(command, args, { cwd: directory, env })

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
      it(`${position + 1}. ${heading}`, async () => {
        if (heading === 'Incremental sync') await deleteAfterFirstSync()
        const { stdout } = await inDirectory('bash', ['--norc', '-euo', 'pipefail', '-c', text])
        expect(stdout).to.match(EXPECTED[heading] ?? /./)
      })
    }
  })

  describe('with TypeScript', () => {
    before(async () => {
      for (const { file, text } of programs) await writeFile(join(directory, file), text)
      await writeFile(join(directory, 'package.json'), '{"type":"module"}')
      await writeFile(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions: COMPILER_OPTIONS }))
    })

    const namesInCopy = async (): Promise<string[]> => {
      const { customers } = JSON.parse(await readFile(join(directory, 'copy.json'), 'utf8'))
      return customers.map(({ name }: { name: string }) => name)
    }
    const namesInService = async (): Promise<string[]> => {
      const first = (await company.get('/customers?limit=200')).body
      const second = (await company.get(`/customers?limit=200&cursor=${first.meta.next_cursor}`)).body
      return [...first.data, ...second.data].map(({ name }) => name)
    }
    const runProgram = (file: string) => inDirectory(process.execPath, ['--import', TSX, file])

    it('compiles strictly', async () => {
      const compiler = fileURLToPath(import.meta.resolve('typescript/package.json')).replace('package.json', 'bin/tsc')
      await inDirectory(process.execPath, [compiler, '-p', '.']).catch(({ stdout }) => expect.fail(stdout))
    })

    it('copies all customers, then what was created, changed and deleted', async () => {
      await runProgram('first-sync.ts')
      expect(await namesInCopy()).to.have.members(await namesInService())
      const [gone] = (await company.get('/customers?external_id=old-7')).body.data
      await company.call('DELETE', `/customers/${gone.id}`)
      await company.call('PATCH', `/customers/${gone.id + 1}`, { name: 'Renomeado' })
      await company.post('/customers', { name: 'Nova' })
      await runProgram('incremental-sync.ts')
      const names = await namesInCopy()
      expect(names).to.have.members(await namesInService())
      expect(names).to.include.members(['Nova', 'Renomeado']).and.not.include('Cliente 7')
    })

    it('writes 700 items in two batches', async () => {
      expect((await runProgram('batch.ts')).stderr).to.equal('')
      expect((await company.get('/catalog/items?external_id=SKU-699')).body.data).to.have.length(1)
    })

    it('sells once, however often it asks', async () => {
      expect((await runProgram('sale.ts')).stdout).to.include("change: '1.10'")
      expect((await company.get('/sales?external_id=PEDIDO-1002')).body.data).to.have.length(1)
    })

    it('settles an account that was overdue', async () => {
      expect((await runProgram('accounts.ts')).stdout).to.equal('NF-4711 was due on 2020-01-10\n')
      const [payable] = (await company.get('/finance/payables?external_id=NF-4711')).body.data
      expect(payable).to.include({ status: 'settled', is_overdue: false })
    })

    it('recognises an error by its code', async () => {
      expect((await runProgram('errors.ts')).stdout).to.match(/^is customer \d+\n$/)
    })
  })
})

/** What the output of a script shows when it did what its section says. */
const EXPECTED: Readonly<Record<string, RegExp>> = {
  'Who am I': /"company": "Loja \d+"[\s\S]*"catalog:read"/,
  'First sync': /^251 customers\.jsonl$/m,
  'Incremental sync': /^\d+$/m,
  Deletions: /^\{"id":\d+,"external_id":"gone","deleted_at":"[^"]+"\}$/m,
  'Your records into the service': /^\d+$/m,
  Batches: /^1\n\{"index":1,"external_id":"CAFE-250","code":"validation_failed","fields":\{"price":/m,
  'Idempotency and retries': /^(\{"id":\d+,"total":"37\.80","change":"12\.20"\}\n)\1Idempotent-Replayed: true/im,
  Accounts: /^\{"status":"settled","payment_method":"pix"\}$/m,
  Errors: /"unknown_fields": \[\s+"nome"/,
  Quotas: /^X-RateLimit-Remaining: \d+/im,
}
