import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import express, { type Router } from 'express'
import { hashKey } from '#access/api-keys.ts'
import { createAddressLimit } from '#access/minute-limit.ts'
import { PANEL_TOKENS, TILL_TOKENS } from '#access/opaque-token.ts'
import { Unavailable, WrongShardError } from '#lib/errors.ts'
import { createApp } from '#service/app.ts'
import { createShardRouter } from '#service/shard-router.ts'
import { type EntryKey, entryKeyBytes } from '#sharding/directory-entries.ts'
import { createShardsView } from '#sharding/shards.ts'
import { send, testKey } from '../support/api.ts'

const COMPANY = 7

describe('shard router', () => {
  const { key } = testKey()
  const session = PANEL_TOKENS.make()
  const till = TILL_TOKENS.make()
  const known = new Map<string, string>()
  const forgotten: number[] = []
  const isLeft = { main: false, south: false }
  let isDown = false
  let url: string
  let close: () => Promise<void>

  const nameOf = (kind: string, entry: EntryKey) => `${kind} ${entryKeyBytes(entry).toString('hex')}`

  /** Answers with the name of the shard; `/api/v1/read` after reading its body. */
  function shardOf(name: 'main' | 'south'): Router {
    const router = express.Router()
    router.use('/api/v1/read', express.json())
    router.use((_request, response) => {
      if (isLeft[name]) throw new WrongShardError(COMPANY)
      response.json({ shard: name })
    })
    return router
  }

  before(async () => {
    const { server, open } = createApp({
      trustProxy: false,
      addresses: createAddressLimit({ perMinute: 1_000_000 }),
      newId: () => 'id',
      isStopping: () => false,
      log: () => {},
    })
    const directory = {
      async find(kind: string, entry: EntryKey) {
        if (isDown) throw new Unavailable('the directory is down')
        const shard = known.get(nameOf(kind, entry))
        return shard ? [{ companyId: COMPANY, shard }] : []
      },
      shardOf: async () => 'south',
      forget(companyId: number) {
        forgotten.push(companyId)
        known.set(nameOf('api_key', hashKey(key)), 'south')
      },
    }
    const served = new Map<string, express.Router>((['main', 'south'] as const).map((name) => [name, shardOf(name)]))
    const shards = createShardsView([...served.keys()], (name) => served.get(name))
    open(async () => ({ parts: {} }), createShardRouter({ directory, shards }))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    close = async () => {
      server.close()
      await once(server, 'close')
    }
  })
  after(() => close())
  beforeEach(() => {
    isLeft.main = false
    isLeft.south = false
    isDown = false
    forgotten.length = 0
    known.clear()
    known.set(nameOf('api_key', hashKey(key)), 'south')
    known.set(nameOf('session', PANEL_TOKENS.hashOf(session) as Buffer), 'south')
    known.set(nameOf('sync_token', TILL_TOKENS.hashOf(till) as Buffer), 'south')
    known.set(nameOf('store_alias', 'café'), 'south')
  })

  const withKey = { authorization: `Bearer ${key}` }
  const post = (path: string) => send(`${url}${path}`, 'POST', { name: 'Ana' }, withKey)
  const shardThat = async (path: string, headers: Record<string, string> = {}) =>
    (await send(`${url}${path}`, 'GET', undefined, headers)).body.shard

  it('finds the shard by key, token, session or alias [SHARD-3]', async () => {
    expect(await shardThat('/api/v1/me', withKey)).to.equal('south')
    expect(await shardThat('/api/sync/status', { authorization: `Bearer ${till}` })).to.equal('south')
    expect(await shardThat('/painel/vendas', { cookie: `a=b; tillbook=${session}` })).to.equal('south')
    expect(await shardThat('/pagar/caf%C3%A9/1/x')).to.equal('south')
    expect(await shardThat('/webhook/paymentprovider/caf%C3%A9')).to.equal('south')
  })

  it('sends requests without a company to the default shard [SHARD-4]', async () => {
    for (const path of ['/api/v1/me', '/painel/entrar', '/pagar/outra/1/x', '/pagar/%E0%A4%A', '/docs', '/'])
      expect(await shardThat(path, { authorization: `Bearer ${testKey().key}` }), path).to.equal('main')
    // A session counts on panel pages only, a key elsewhere.
    expect(await shardThat('/api/v1/me', { cookie: `tillbook=${session}` })).to.equal('main')
    expect(await shardThat('/painel', withKey)).to.equal('main')
  })

  it('responds 503, in the format of the interface, if the shard or the directory is down [SHARD-5]', async () => {
    known.set(nameOf('api_key', hashKey(key)), 'north')
    const away = await send(`${url}/api/v1/me`, 'GET', undefined, withKey)
    expect([away.status, away.headers.get('retry-after'), away.body.error.code]).to.deep.equal([
      503,
      '1',
      'unavailable',
    ])
    expect(away.text).not.to.include('north')
    isDown = true
    const atTill = await send(`${url}/api/sync/status`, 'GET', undefined, { authorization: `Bearer ${till}` })
    expect([atTill.status, atTill.body.success]).to.deep.equal([503, false])
    // Requests without a credential need no directory.
    expect(await shardThat('/painel/entrar')).to.equal('main')
  })

  it('follows a migrated company, if nothing of the request was read [SHARD-7]', async () => {
    known.set(nameOf('api_key', hashKey(key)), 'main')
    isLeft.main = true
    const reply = await post('/api/v1/customers')
    expect([reply.status, reply.body?.shard, ...forgotten]).to.deep.equal([200, 'south', COMPANY])
    known.set(nameOf('api_key', hashKey(key)), 'main')
    const read = await post('/api/v1/read')
    expect([read.status, read.headers.get('retry-after')]).to.deep.equal([503, '1'])
    // The next request goes there directly.
    expect((await post('/api/v1/read')).body.shard).to.equal('south')
    isLeft.south = true
    expect((await post('/api/v1/customers')).status).to.equal(503)
  })
})
