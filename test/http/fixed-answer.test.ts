import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import express from 'express'
import { type Compress, createCompress, createFixedAnswer } from '#http/answers.ts'

const TEXT = 'O mesmo de sempre. '.repeat(1_000)

describe('constant response', () => {
  let made: number
  let compressed: string[]
  /** Results of the next compressions, instead of the bytes. */
  let instead: (() => null)[]
  let server: ReturnType<typeof createServer>
  let url: string
  const real = createCompress()
  const compress: Compress = (bytes, coding, key) => {
    compressed.push(coding)
    const other = instead.shift()
    return other ? Promise.resolve().then(other) : real(bytes, coding, key)
  }

  beforeEach(async () => {
    made = 0
    compressed = []
    instead = []
    const send = createFixedAnswer(
      () => {
        made += 1
        return TEXT
      },
      compress,
      'text/plain; charset=utf-8',
    )
    server = createServer(express().use((_request, response) => send(response))).listen(0, '127.0.0.1')
    await once(server, 'listening')
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  })
  afterEach(() => {
    server.closeAllConnections()
    server.close()
  })

  const get = async (coding: string) => {
    const reply = await fetch(url, { headers: { 'accept-encoding': coding } })
    return [reply.status, reply.headers.get('content-encoding'), (await reply.text()) === TEXT]
  }

  it('is built once, and compressed once per coding, for fifty concurrent requests [HTTP-14]', async () => {
    const codings = Array.from({ length: 50 }, (_, n) => (n % 2 === 0 ? 'br' : 'gzip'))
    expect(await Promise.all(codings.map(get))).to.deep.equal(codings.map((coding) => [200, coding, true]))
    await get('br')
    expect(made).to.equal(1)
    expect(compressed.sort()).to.deep.equal(['br', 'gzip'])
  })

  it('is sent uncompressed while compression is busy, and compressed later', async () => {
    instead.push(() => null)
    expect(await get('br')).to.deep.equal([200, null, true])
    expect(await get('br')).to.deep.equal([200, 'br', true])
  })

  it('is compressed later if compression failed', async () => {
    instead.push(() => {
      throw new Error('no memory')
    })
    expect((await get('gzip'))[0]).to.equal(500)
    expect(await get('gzip')).to.deep.equal([200, 'gzip', true])
  })
})
