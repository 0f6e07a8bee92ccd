import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { createClient } from '../../clients/typescript/src/index.ts'
import { freePort } from '../../src/postgres/embedded.ts'
import { deliveryHeaders } from '../../src/webhooks/sender.ts'
import { useDatabase } from '../../test/support/database.ts'
import { until } from '../../test/support/wait.ts'
import { type DeliveringService, startDelivering } from '../../test/webhooks/delivering-service.ts'
import { openRecords } from '../records.ts'

const FOLDER = fileURLToPath(new URL('..', import.meta.url))
const TSX = import.meta.resolve('tsx')

interface Program {
  readonly child: ChildProcess
  output(): string
  /** Exit code; null after a kill. */
  ended(): Promise<number | null>
  kill(): Promise<unknown>
}

describe('the examples', () => {
  const database = useDatabase()
  let service: DeliveringService
  let folder: string
  const running = new Set<Program>()
  before(async () => {
    service = await startDelivering(database.url)
    folder = await mkdtemp(join(tmpdir(), 'tillbook-examples-'))
  })
  afterEach(() => Promise.all([...running].map((program) => program.kill())))
  after(async () => {
    await service.close()
    await rm(folder, { recursive: true })
  })

  /** Runs an example like its script in package.json. */
  async function start(name: string, file: string, more: Record<string, string> = {}): Promise<Program> {
    const { scripts } = JSON.parse(await readFile(join(FOLDER, 'package.json'), 'utf8'))
    const [tsx, program] = scripts[name].split(' ')
    expect(tsx).to.equal('tsx')
    const env = { PATH: process.env.PATH, BASE: service.api.url, KEY: service.company.key, ...more }
    const child = spawn(process.execPath, ['--import', TSX, program, join(folder, file)], { cwd: FOLDER, env })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => {
        output += text
      })
    const exit = once(child, 'close')
    const started: Program = {
      child,
      output: () => output,
      ended: async () => (await exit)[0],
      async kill() {
        child.kill('SIGKILL')
        await exit
        running.delete(started)
      },
    }
    running.add(started)
    return started
  }

  async function present(): Promise<Map<string, unknown>> {
    const found = new Map<string, unknown>()
    const client = createClient({ baseUrl: service.api.url, key: service.company.key })
    for (const list of ['/customers', '/catalog/items', '/catalog/categories'] as const)
      for await (const { data } of client.pages(list))
        for (const record of data) found.set(`${list}/${record.id}`, record)
    return found
  }

  function known(file: string): Map<string, unknown> {
    const { database } = openRecords(join(folder, file))
    const rows = database
      .prepare(
        `select resource, id, data from records
         where data is not null and resource in ('/customers', '/catalog/items', '/catalog/categories')`,
      )
      .all() as { resource: string; id: number; data: string }[]
    database.close()
    return new Map(rows.map(({ resource, id, data }) => [`${resource}/${id}`, JSON.parse(data)]))
  }

  it('compile strictly', async () => {
    const compiler = fileURLToPath(import.meta.resolve('typescript/package.json')).replace('package.json', 'bin/tsc')
    const compiled = promisify(execFile)(process.execPath, [compiler, '-p', FOLDER])
    await compiled.catch(({ stdout }) => expect.fail(stdout))
  })

  it('mirrors all records once, whenever it is killed [KIT-2]', async () => {
    const { company, api } = service
    const write = (from: number) =>
      company.post('/customers/batch', {
        items: Array.from({ length: 210 }, (_, n) => ({ external_id: `c${from + n}`, name: `Cliente ${from + n}` })),
      })
    for (const from of [0, 500]) await write(from)
    for (const kill of [1, 2]) {
      const mirror = await start('mirror', 'mirror.sqlite', { EVERY_SECONDS: '0' })
      await until(() => mirror.output().includes('/customers: '))
      await mirror.kill()
      await write(kill * 1000)
      await company.call('DELETE', `/customers/${kill}`)
      const records = openRecords(join(folder, 'mirror.sqlite'))
      const has = known('mirror.sqlite')
      const client = createClient({ baseUrl: api.url, key: company.key })
      // Nothing is returned again.
      for await (const changes of client.changes({ since: records.position() }))
        for (const record of changes.records)
          expect(has.get(`${changes.resource}/${record.id}`)).to.not.deep.equal(record)
      records.database.close()
    }
    const mirror = await start('mirror', 'mirror.sqlite', { EVERY_SECONDS: '0' })
    await until(async () => known('mirror.sqlite').size === (await present()).size)
    expect(known('mirror.sqlite')).to.deep.equal(await present())
    mirror.child.kill('SIGTERM')
    expect(await mirror.ended()).to.equal(0)
  })

  it('mirror: clears erased persons in sales too, and empties an erased test company [KIT-2]', () => {
    const { database, take, position } = openRecords(':memory:')
    const shown = { updated_at: '2026-11-21T09:00:00-03:00', deleted: [] }
    const told = (resource: string, record: object, more = {}) =>
      take({ resource, records: [{ id: 7, ...shown, ...record }], deleted: [], position: resource, ...more } as never)
    const all = () =>
      database
        .prepare("select resource || ' ' || coalesce(data->>'name', data->'customer'->>'name', '-') as it from records")
        .all()
    told('/customers', { name: 'Maria' })
    told('/sales', { customer: { id: 7, name: 'Maria' } })
    expect(all()).to.deep.equal([{ it: '/customers Maria' }, { it: '/sales Maria' }])
    told('/customers', { name: null, forgotten_at: '2026-11-22T09:00:00-03:00' })
    expect(all()).to.deep.equal([{ it: '/customers -' }, { it: '/sales -' }])
    expect(position()).to.equal('/customers')
    told('/customers', { id: 8, name: 'José' }, { erased: true })
    const left = database.prepare('select resource, id from records where data is not null').all()
    expect(left.map((row) => Object.values(row as object))).to.deep.equal([
      ['/customers', 8],
      ['/sales', 7],
    ])
    database.close()
  })

  it('import-catalog: imports a spreadsheet, reports refused lines, and duplicates nothing [KIT-2]', async () => {
    const lines = [
      'external_id;name;price;stock;category',
      'CAFE-500;Café torrado 500 g;18,90;24;Mercearia',
      'CAFE-250;Café torrado 250 g;9,9;10;Mercearia',
      'ACUCAR-1;Açúcar 1 kg;1.005,00;;',
    ]
    const run = async () => {
      await writeFile(join(folder, 'products.csv'), `\uFEFF${lines.join('\r\n')}\r\n`)
      const program = await start('import-catalog', 'products.csv')
      return { code: await program.ended(), output: program.output() }
    }
    const first = await run()
    expect(first.output)
      .to.match(/^line 3: validation_failed .*"price"/m)
      .and.include('2 written, 1 refused')
    expect(first.code).to.equal(1)
    lines[2] = 'CAFE-250;Café torrado 250 g;9,90;10;Mercearia'
    expect(await run()).to.deep.equal({ code: 0, output: '3 written, 0 refused\n' })
    const items = (await service.company.get('/catalog/items')).body.data
    expect(items.map((item: { name: string; price: string }) => [item.name, item.price])).to.have.deep.members([
      ['Café torrado 500 g', '18.90'],
      ['Café torrado 250 g', '9.90'],
      ['Açúcar 1 kg', '1005.00'],
    ])
    expect((await service.company.get('/catalog/categories')).body.data).to.have.length(1)
  })

  it('push-sales: registers each sale once, for lost responses and kills at any time [KIT-2]', async () => {
    const { company } = service
    const payment_type_id = await company.paymentType('cash')
    const sale = (external_id: string, quantity = '1') => ({
      external_id,
      items: [{ description: 'Café', quantity, unit_price: '5.00' }],
      payments: [{ payment_type_id, amount: '5.00' }],
    })
    // Like a sale pushed long ago, after its Idempotency-Key expired.
    const old = (await company.post('/sales', sale('W-1'))).body.data.id
    const queue = [sale('W-1'), sale('W-2'), sale('W-3', '2'), sale('W-4')].map((one) => JSON.stringify(one))
    await writeFile(join(folder, 'sales.jsonl'), `${queue.join('\n')}\n{"external_id":"W-5","ite`)

    let lost = 0
    const proxy = createServer(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk)
      const { host: _, connection: __, ...headers } = request.headers as Record<string, string>
      const { method = '', url } = request
      const answer = await fetch(`${service.api.url}${url}`, { method, headers, body: Buffer.concat(chunks) })
      const text = await answer.text()
      if (answer.ok && lost++ === 0) return response.destroy()
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(text)
    }).listen(0)
    await once(proxy, 'listening')
    const BASE = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
    const push = async () => {
      const program = await start('push-sales', 'sales.jsonl', { BASE })
      expect(await program.ended(), program.output()).to.equal(0)
      return program.output().split('\n').filter(Boolean)
    }
    const done = join(folder, 'sales.jsonl.done')
    try {
      expect(await push()).to.deep.equal([
        `W-1: sale ${old}`,
        `W-2: sale ${old + 1}`,
        'W-3: payment_mismatch',
        `W-4: sale ${old + 2}`,
      ])
      expect(lost).to.be.above(1)
      // A kill may come between the sale and its outcome line, and within that line.
      const noted = await readFile(done, 'utf8')
      await writeFile(done, noted.slice(0, -12))
      await appendFile(join(folder, 'sales.jsonl'), 'ms":[]}\n')
      expect(await push()).to.deep.equal([`W-4: sale ${old + 2}`, 'W-5: validation_failed'])
      expect(await push()).to.deep.equal([])
    } finally {
      proxy.close()
    }
    expect((await company.get('/sales')).body.data).to.have.length(3)
  })

  it('receive-webhooks: processes each delivery once, refuses forgeries, and finds missed changes [KIT-2]', async () => {
    const { company } = service
    const port = await freePort(null)
    const url = `http://127.0.0.1:${port}/hook`
    const { secret } = await service.register(['basic'], url)
    const other = await company.newKey(['customers:write'])
    const create = async (name: string) => {
      const headers = { authorization: `Bearer ${other.key}` }
      return (await company.post('/customers', { name }, headers)).body.data.id as number
    }
    const env = { SECRET: secret, PORT: String(port) }
    const receiver = await start('receive-webhooks', 'webhooks.sqlite', env)
    await until(() => receiver.output().includes('reconciled'))
    const told = await create('Maria')
    await until(() => receiver.output().includes(`customer.created ${told}\n`))

    const post = (body: string, by: string) => {
      const delivery = { id: 'again', event: 'customer.updated', revision: 1, sequence: 1, body }
      const headers = deliveryHeaders(delivery, { secret: by, next_secret: null, switch_at: null }, Date.now())
      return fetch(url, { method: 'POST', headers, body })
    }
    const old = { id: told, name: 'Mario', updated_at: '2020-01-01T00:00:00Z' }
    const body = JSON.stringify({ event: 'customer.updated', data: old })
    expect((await post(body, `whsec_${Buffer.alloc(24).toString('base64')}`)).status).to.equal(401)
    for (const _ of [1, 2]) expect((await post(body, secret)).status).to.equal(204)
    await until(() => receiver.output().includes('customer.updated came again'))
    // An outdated webhook changes nothing.
    expect(known('webhooks.sqlite').get(`/customers/${told}`)).to.deep.include({ name: 'Maria' })

    await receiver.kill()
    const missed = await create('José')
    await company.call('DELETE', `/customers/${told}`)
    const again = await start('receive-webhooks', 'webhooks.sqlite', env)
    await until(() => again.output().includes('reconciled'))
    expect(again.output()).to.include(`/customers/${missed} was not told`)
    expect(known('webhooks.sqlite')).to.deep.equal(await present())
    const { database } = openRecords(join(folder, 'webhooks.sqlite'))
    expect(database.prepare('select count(*) as n from deliveries where data is not null').get()).to.include({ n: 0 })
    database.close()
  })
})
