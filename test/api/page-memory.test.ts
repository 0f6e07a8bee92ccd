import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect } from 'chai'
import { createPageCache } from '#http/traffic.ts'
import type { TestCompany } from '../support/api.ts'
import { useApi } from '../support/use-api.ts'

const CUSTOMERS = 200
/** Position of a customer in the list, after many copies of its company's letter. */
const nameOf = (letter: string, place: number): string => `${letter.repeat(100)} ${place}`

/** Pages for a client that does not read: more than the socket buffers. */
const UNREAD = 100
const ROUNDS = 40

describe('reused page buffers', () => {
  const api = useApi({ pages: createPageCache(2 ** 24) })
  const companies: [letter: string, company: TestCompany][] = []

  before(async () => {
    for (const letter of ['a', 'b', 'c']) {
      const company = await api.company()
      const items = Array.from({ length: CUSTOMERS }, (_, n) => ({
        external_id: `${letter}-${n}`,
        name: nameOf(letter, n),
      }))
      expect(await company.post('/customers/batch', { items })).to.have.property('status', 200)
      companies.push([letter, company])
    }
  })

  const path = (limit: number) => `/api/v1/customers?limit=${limit}`

  function check(text: string, letter: string, limit: number): void {
    const { data } = JSON.parse(text) as { data: { name: string }[] }
    expect(data.map(({ name }) => name)).to.deep.equal(Array.from({ length: limit }, (_, n) => nameOf(letter, n)))
  }

  async function readAll(): Promise<void> {
    const reads = companies.flatMap(([letter, { key }], place) =>
      ['identity', 'gzip', 'br'].map(async (coding, other) => {
        const limit = CUSTOMERS - place - 3 * other
        const headers = { Authorization: `Bearer ${key}`, 'Accept-Encoding': coding }
        const response = await fetch(`${api.url}${path(limit)}`, { headers })
        check(await response.text(), letter, limit)
      }),
    )
    await Promise.all(reads)
  }

  function ask({ key }: TestCompany, limits: readonly number[]): Socket {
    const { hostname, port } = new URL(api.url)
    const socket = connect(Number(port), hostname).pause()
    socket.on('error', () => {})
    for (const limit of limits)
      socket.write(`GET ${path(limit)} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${key}\r\n\r\n`)
    return socket
  }

  it('are reused only after the client received all bytes, however late it reads', async () => {
    const limits = Array.from({ length: UNREAD }, (_, n) => CUSTOMERS - n)
    const [letter, company] = companies[0] as [string, TestCompany]
    const slow = ask(company, limits)
    for (let round = 0; round < 10; round++) await readAll()
    let received = ''
    let answered = 0
    slow.setEncoding('latin1').on('data', (text: string) => {
      received += text
      for (let head = received.indexOf('\r\n\r\n'); head >= 0; head = received.indexOf('\r\n\r\n')) {
        const length = Number(/content-length: (\d+)/i.exec(received.slice(0, head))?.[1])
        const end = head + 4 + length
        if (received.length < end) return
        check(received.slice(head + 4, end), letter, limits[answered] as number)
        received = received.slice(end)
        answered += 1
        if (answered === UNREAD) slow.end()
      }
    })
    slow.resume()
    await once(slow, 'close')
    expect(answered).to.equal(UNREAD)
  })

  it('stay intact if clients disconnect during reading, compression or sending', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const gone = companies.map(([, company]) => ask(company, [200, 150, 100]))
      const reading = readAll()
      for (const [place, socket] of gone.entries()) setTimeout(() => socket.destroy(), (round + 3 * place) % 12)
      await reading
      for (const socket of gone) socket.destroy()
    }
  })
})
