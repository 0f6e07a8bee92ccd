import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { v7 as uuidv7 } from 'uuid'
import { createAddressLimit } from '#access/minute-limit.ts'
import { createApp } from '#service/interfaces.ts'
import { bytesOf, exchange } from '../support/wire.ts'

describe('responses before the interfaces are ready', () => {
  let server: Server
  let url: string

  before(async () => {
    const app = createApp({
      trustProxy: false,
      addresses: createAddressLimit({ perMinute: 1_000_000 }),
      newId: uuidv7,
      isStopping: () => false,
      log: () => {},
    })
    server = app.server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  after(() => void server.close())

  const ask = async (path: string) => {
    const reply = await exchange(url, bytesOf({ method: 'GET', path }))
    expect([reply.status, reply.headers.get('retry-after')], path).to.deep.equal([503, '5'])
    expect(reply.headers.get('x-request-id')).to.match(/^[0-9a-f-]{36}$/)
    return reply
  }

  it('have the till format for tills [OPS-7]', async () => {
    for (const path of [
      '/api/sync/status',
      '/api',
      '/api?x',
      '/api/v2',
      '/api/v1x',
      '/API/auth/login',
      'http://a/api/auth/user',
    ]) {
      expect((await ask(path)).body, path).to.include({ success: false })
    }
  })

  it('are a page in the panel [OPS-7]', async () => {
    for (const path of ['/painel', '/painel/entrar', '/painel/vendas?x=1']) {
      const { headers, text } = await ask(path)
      expect(headers.get('content-type'), path).to.equal('text/html; charset=utf-8')
      expect(text, path).to.match(/^<!doctype html>/i)
    }
  })

  it('have the format of API v1 elsewhere [OPS-7]', async () => {
    for (const path of ['/api/v1', '/api/v1/me', '/api/v1?x', '/webhook/paymentprovider/a/1', '/', '/painelx']) {
      expect((await ask(path)).body?.error?.code, path).to.equal('unavailable')
    }
  })
})
