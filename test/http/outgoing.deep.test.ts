import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import express, { type Express } from 'express'
import { createOutgoing, type StreamWrite } from '#http/answers.ts'
import { Unavailable } from '#lib/errors.ts'
import { until } from '../support/wait.ts'

const MB = 1_048_576
/** More than socket buffers hold. */
const LARGE = 32 * MB

describe('large responses', () => {
  let url: string
  let close: () => Promise<unknown>
  let read: (write: StreamWrite) => Promise<void>
  /** Companies with a completed or aborted response. */
  let done: number[]
  let asked = 0

  before(async () => {
    const outgoing = createOutgoing({ allBytes: 100 * MB, companyBytes: 40 * MB })
    const app: Express = express()
    app.get('/:company', async (request, response) => {
      asked += 1
      const company = Number(request.params.company)
      response.locals.rawBody = Buffer.alloc(Number(request.query.body ?? 0))
      await outgoing
        .send(response, company, (write) => read(write))
        .catch((error: unknown) => response.status(error instanceof Unavailable ? 503 : 500).end())
      done.push(company)
    })
    const server = app.listen(0, '127.0.0.1')
    await once(server, 'listening')
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    close = () => new Promise((resolve) => server.close(resolve).closeAllConnections())
  })
  beforeEach(() => {
    done = []
    asked = 0
    read = async (write) => void write('x'.repeat(LARGE))
  })
  after(() => close())

  /** Sends a request without reading the response. */
  const ask = (company: number, bodyBytes = 0): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      get(`${url}/${company}?body=${bodyBytes}`, { agent: false }, (response) =>
        resolve(response.pause().on('error', () => {})),
      ).on('error', reject)
    })
  const bytesOf = async (answer: IncomingMessage): Promise<number> => {
    let bytes = 0
    for await (const chunk of answer) bytes += chunk.length
    return bytes
  }

  it('arrive complete, with their length', async () => {
    read = async (write) => {
      for (const text of ['é', '🥖', 'a']) expect(write(text)).to.equal(true)
    }
    const answer = await ask(1)
    expect(answer.headers['content-length']).to.equal('7')
    expect(await bytesOf(answer)).to.equal(7)
  })

  it('are 503 while too much of a company is unread, but not for other companies [SYNC-8]', async () => {
    const slow = await ask(1)
    expect(slow.statusCode).to.equal(200)
    expect((await ask(1)).statusCode).to.equal(503)
    const other = await ask(2)
    expect(other.statusCode).to.equal(200)
    expect(await bytesOf(slow)).to.equal(LARGE)
    await until(() => done.includes(1) && done.filter((company) => company === 1).length === 2)
    const again = await ask(1)
    expect(again.statusCode).to.equal(200)
    for (const answer of [again, other]) expect(await bytesOf(answer)).to.equal(LARGE)
  })

  it('are sent one at a time if a single one exceeds the share of a company [SYNC-8]', async () => {
    read = async (write) => {
      for (let n = 0; n < 5; n++) write('x'.repeat(10 * MB))
    }
    const answer = await ask(1)
    expect(answer.statusCode).to.equal(200)
    expect((await ask(1)).statusCode).to.equal(503)
    expect(await bytesOf(answer)).to.equal(50 * MB)
  })

  it('are 503 for all companies while too much is unread in total [SYNC-8]', async () => {
    const slow = await Promise.all([1, 2, 3].map(ask))
    expect(slow.map(({ statusCode }) => statusCode)).to.deep.equal([200, 200, 200])
    expect((await ask(4)).statusCode).to.equal(503)
    for (const answer of slow) answer.destroy()
    await until(() => done.length === 4)
    const freed = await ask(4)
    expect(freed.statusCode).to.equal(200)
    expect(await bytesOf(freed)).to.equal(LARGE)
  })

  it('can be pending by the hundreds', async () => {
    let open = () => {}
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    read = async (write) => {
      await gate
      write('x')
    }
    const waiting = Array.from({ length: 300 }, (_, company) => ask(company))
    await until(() => asked === 300)
    open()
    const answers = await Promise.all(waiting)
    expect(new Set(answers.map(({ statusCode }) => statusCode))).to.deep.equal(new Set([200]))
    for (const answer of answers) expect(await bytesOf(answer)).to.equal(1)
  })

  it('are 503 while the request bodies of pending responses of a company are too large [SYNC-8]', async () => {
    let open = () => {}
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    read = () => gate
    const first = ask(1, 30 * MB)
    const refused = await Promise.race([ask(1, 30 * MB), first])
    expect(refused.statusCode).to.equal(503)
    open()
    expect((await first).statusCode).to.equal(200)
  })

  it('stop reading when the till disconnects', async () => {
    let goesOn = true
    let reading = false
    read = async (write) => {
      reading = true
      await until(() => {
        goesOn = write('x')
        return !goesOn
      })
    }
    const request = get(`${url}/1`, { agent: false }).on('error', () => {})
    await until(() => reading)
    request.destroy()
    await until(() => done.length === 1)
    expect(goesOn).to.equal(false)
  })

  it('can fail in the middle, and release their memory', async () => {
    read = async (write) => {
      write('x'.repeat(LARGE))
      throw new Error('Postgres went away')
    }
    for (let n = 0; n < 5; n++) expect((await ask(1)).statusCode).to.equal(500)
  })
})
