import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { get } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TLSSocket, connect as tlsConnect } from 'node:tls'
import { expect } from 'chai'
import express from 'express'
import { createAddressLimit } from '#access/minute-limit.ts'
import { answerProblem } from '#http/edge.ts'
import { renewTls, serverOf } from '#http/server.ts'
import { CERTIFICATES } from '../../support/tls.ts'
import { until } from '../../support/wait.ts'

describe('server with a certificate', () => {
  let folder: string
  const [first, second] = CERTIFICATES
  const files = () => ({ certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') })
  const write = ({ cert, key }: { cert: string; key: string }) =>
    Promise.all([writeFile(files().certFile, cert), writeFile(files().keyFile, key)])

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tls-'))
    await write(first)
  })
  after(() => rm(folder, { recursive: true }))

  it('speaks HTTPS, and loads a renewed certificate without a restart [PANEL-104]', async () => {
    const app = express().get('/', (request, response) => void response.send(request.secure ? 'secure' : 'plain'))
    const faults: unknown[] = []
    const server = serverOf(app, {
      newId: () => 'id',
      answer: answerProblem,
      addresses: createAddressLimit({ perMinute: 1_000_000 }),
      tls: files(),
    })
    const stop = renewTls(server as never, files(), (error) => faults.push(error), 5)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const at = { host: '127.0.0.1', port, rejectUnauthorized: false }
    const named = () =>
      new Promise<string>((resolve, reject) => {
        const socket: TLSSocket = tlsConnect(at, () => {
          resolve(String(socket.getPeerCertificate().subject.CN))
          socket.destroy()
        }).on('error', reject)
      })
    try {
      const body = await new Promise<string>((resolve, reject) => {
        get({ ...at, agent: false }, (response) => {
          let text = ''
          response.on('data', (part) => (text += part)).on('end', () => resolve(text))
        }).on('error', reject)
      })
      expect(body).to.equal('secure')
      const nonsense = tlsConnect(at, () => nonsense.write('nonsense\r\n\r\n'))
      const [told] = await once(nonsense, 'data')
      expect(String(told)).to.match(/^HTTP\/1.1 400 /)
      expect(await named()).to.equal('one')
      await writeFile(files().certFile, 'no certificate')
      await until(() => faults.length > 0)
      expect(await named()).to.equal('one')
      await write(second)
      await until(async () => (await named()) === 'two')
    } finally {
      stop()
      server.closeAllConnections()
      server.close()
    }
  })
})
