import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { connect as connectTls } from 'node:tls'
import { expect } from 'chai'
import express from 'express'
import { createAddressLimit } from '#access/minute-limit.ts'
import { answerProblem } from '#http/edge.ts'
import { SERVER_LIMITS, serverOf } from '#http/server.ts'
import { CERTIFICATES } from '../../support/tls.ts'
import { until } from '../../support/wait.ts'

const PIECE = Buffer.alloc(65_536, 'x')

describe('client that reads a streamed response', () => {
  let folder: string
  const cleanups: (() => unknown)[] = []

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'readers-'))
    await writeFile(join(folder, 'cert.pem'), CERTIFICATES[0].cert)
    await writeFile(join(folder, 'key.pem'), CERTIFICATES[0].key)
  })
  after(() => rm(folder, { recursive: true }))
  afterEach(() => {
    for (const cleanup of cleanups.splice(0)) cleanup()
  })

  /** Server of `answer` with a minimum pace for clients, and a paused connection that requested it. */
  async function asked(answer: () => Readable, readerBytesPerSecond: number, isTls: boolean) {
    let end: Promise<unknown> | undefined
    const app = express().get('/', (_request, response) => {
      end = pipeline(answer(), response).then(
        () => 'whole',
        () => 'cut',
      )
    })
    const limits = { ...SERVER_LIMITS, look_ms: 20, reader_ms: 300, readerBytesPerSecond }
    const tls = isTls ? { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') } : null
    const server = serverOf(app, {
      newId: () => 'id',
      answer: answerProblem,
      addresses: createAddressLimit({ perMinute: 1_000_000 }),
      limits,
      tls,
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const at = { host: '127.0.0.1', port, rejectUnauthorized: false }
    const socket: Socket = isTls ? connectTls(at) : connect(at)
    cleanups.push(
      () => socket.destroy(),
      () => server.close(),
    )
    socket.on('error', () => {})
    await once(socket, isTls ? 'secureConnect' : 'connect')
    socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    return { socket, ended: () => until(() => end).then((ending) => ending) }
  }

  for (const isTls of [false, true])
    it(`is disconnected if it reads too slowly, over ${isTls ? 'HTTPS' : 'HTTP'} [OPS-26]`, async () => {
      function* endless() {
        for (;;) yield PIECE
      }
      const { socket, ended } = await asked(() => Readable.from(endless()), 500_000_000, isTls)
      // Reads continuously, so that the connection is never idle.
      socket.on('readable', () => {})
      const reading = setInterval(() => socket.read(10_000), 20)
      cleanups.push(() => clearInterval(reading))
      expect(await ended()).to.equal('cut')
    })

  it('is not late while the response is being produced [OPS-26]', async () => {
    let made = 0
    async function* dripping() {
      for (const began = performance.now(); performance.now() - began < 1_000; made++) {
        yield 'x'
        await new Promise(setImmediate)
      }
    }
    const { socket, ended } = await asked(() => Readable.from(dripping()), 500_000_000, false)
    socket.resume()
    expect(await ended()).to.equal('whole')
    expect(made).to.be.above(0)
  })
})
