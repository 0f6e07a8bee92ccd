import { expect } from 'chai'
import { revokeApiKey } from '#commands/api-key-commands.ts'
import { changePassword } from '#commands/user-commands.ts'
import { createMemoryBudget } from '#lib/memory.ts'
import { expectProblem } from '../support/answers.ts'
import type { Reply } from '../support/api.ts'
import { untilBlocked } from '../support/lock-waits.ts'
import { offlineSaleOf } from '../support/offline-sales.ts'
import { hiddenFields, panelUser } from '../support/panel.ts'
import { cheapHash } from '../support/passwords.ts'
import { createTestUser, expectFailure, openTill } from '../support/till.ts'
import { useCompanyPerTest } from '../support/use-api.ts'
import { until } from '../support/wait.ts'
import { bytesOf, openWire, type RawCall } from '../support/wire.ts'

describe('a POST with a credential that ends before its decision', () => {
  /** Requests received by the writer. */
  let written = 0
  /** Bodies that the service began to read. */
  let begun = 0
  const budget = createMemoryBudget({ allBytes: 1_000_000, companyBytes: 1_000_000 })
  const { api, company } = useCompanyPerTest({
    bodies: {
      open(key) {
        begun += 1
        return budget.open(key)
      },
    },
    wrapWriter: (writer) => ({
      ...writer,
      around(_request, write) {
        written += 1
        return write()
      },
    }),
  })

  const revision = async () => Number((await company.get('/me')).headers.get('x-ledger-revision'))

  /** Sends a call without the last byte of its body, and that byte after `end`. */
  async function endMidway(call: RawCall, end: () => Promise<unknown>): Promise<Reply> {
    const bytes = bytesOf(call)
    const before = begun
    const wire = await openWire(api.url)
    try {
      wire.write(bytes.subarray(0, -1))
      await until(() => begun > before)
      await end()
      wire.write(bytes.subarray(-1))
      return (await wire.answered(1))[0] as Reply
    } finally {
      wire.close()
    }
  }

  /** Sends a call that is decided after `end`, by waiting for a lock. */
  async function endBefore(end: () => Promise<unknown>, call: () => Promise<Reply>, isCommand = true): Promise<Reply> {
    const blocker = await api.core.pool.connect()
    try {
      await blocker.query('begin')
      await blocker.query('select from ops.ledgers where company_id = $1 for update', [company.id])
      const ending = end()
      await untilBlocked(api.core.pool, 1)
      const before = written
      const called = call()
      if (isCommand) await until(() => written > before)
      else await untilBlocked(api.core.pool, 2)
      await blocker.query('rollback')
      await ending
      return await called
    } finally {
      blocker.release(true)
    }
  }

  /** Sends a call that has come to the writer, and waits for a lock, when `end` is done. */
  async function endWhileBlocked<R>(call: () => Promise<R>, end: () => Promise<unknown>): Promise<R> {
    const blocker = await company.core.pool.connect()
    try {
      await blocker.query('begin')
      await blocker.query('select from ops.ledgers where company_id = $1 for update', [company.id])
      const called = call()
      await untilBlocked(company.core.pool, 1)
      await end()
      await blocker.query('rollback')
      return await called
    } finally {
      blocker.release(true)
    }
  }

  describe('is refused, and leaves nothing behind, when', () => {
    it('its key is revoked while its body is on its way [KEY-21]', async () => {
      const { id, key } = await company.newKey(['customers:write'])
      const headers = [
        ['Authorization', `Bearer ${key}`],
        ['Content-Type', 'application/json'],
      ] as const
      const call = { method: 'POST', path: '/api/v1/customers', headers, body: '{"name":"Ana"}' }
      const reply = await endMidway(call, () => company.run(revokeApiKey, { id }))
      expectProblem(reply, 401, 'invalid_token')
      expect(reply.headers.get('www-authenticate')).to.equal('Bearer')
      expect((await company.get('/customers')).body.data).to.deep.equal([])
    })

    it('its key is revoked while it is queued [KEY-21]', async () => {
      const { data } = (await company.post('/webhooks', { url: 'https://example.com/', events: ['basic'] })).body
      for (const [path, body] of [
        ['/customers', { name: 'Ana' }],
        ['/customers/batch', { items: [{ external_id: 'a', name: 'Ana' }] }],
        [`/webhooks/${data.id}/test`, {}],
      ] as const) {
        const { id, key } = await company.newKey(['customers:write', 'webhooks:manage'])
        const reply = await endBefore(
          () => company.run(revokeApiKey, { id }),
          () => company.call('POST', path, body, { authorization: `Bearer ${key}` }),
          !path.endsWith('/test'),
        )
        expectProblem(reply, 401, 'invalid_token')
      }
      expect((await company.get('/customers')).body.data).to.deep.equal([])
    })

    it('its till logs out during its upload [KEY-21]', async () => {
      const till = await openTill(api.url, company)
      const headers = [
        ['Authorization', `Bearer ${till.token}`],
        ['Content-Type', 'application/json'],
      ] as const
      const body = JSON.stringify({ sales: [offlineSaleOf()] })
      const before = await revision()
      const call = { method: 'POST', path: '/api/sync/sales', headers, body }
      expectFailure(await endMidway(call, () => till.post('/auth/logout')), 401, /Faça login novamente/)
      expect(await revision()).to.equal(before)
    })

    it('its user gets a new password while its upload is queued [KEY-21]', async () => {
      const user = await createTestUser(company)
      const till = await openTill(api.url, company, user)
      const password_hash = await cheapHash('outra senha boa')
      const reply = await endBefore(
        () => company.run(changePassword, { id: user.id, password_hash }),
        () => till.post('/sync/sales', { sales: [offlineSaleOf()] }),
      )
      expectFailure(reply, 401, /Faça login novamente/)
      const { rows } = await api.core.pool.query('select from ops.refused_sales where company_id = $1', [company.id])
      expect(rows).to.deep.equal([])
    })

    it('its session ends during the upload of its form [KEY-21]', async () => {
      const owner = await panelUser(api, company)
      const form = hiddenFields((await owner.get('/painel/clientes/novo')).html, '/painel/clientes')
      const headers = [
        ['Cookie', owner.cookie()],
        ['Content-Type', 'application/x-www-form-urlencoded'],
      ] as const
      const body = new URLSearchParams({ ...form, name: 'Maria', person_type: 'PF' }).toString()
      const call = { method: 'POST', path: '/painel/clientes', headers, body }
      const reply = await endMidway(call, () => owner.submit('/painel/clientes', {}, '/painel/sair'))
      expect(reply.status).to.equal(401)
      expect(reply.text).to.include('action="/painel/entrar"')
      expect((await company.get('/customers')).body.data).to.deep.equal([])
    })

    it('its till logs out while its upload waits for its turn [KEY-21]', async () => {
      const till = await openTill(api.url, company)
      const before = await revision()
      const reply = await endWhileBlocked(
        () => till.post('/sync/sales', { sales: [offlineSaleOf()] }),
        () => till.post('/auth/logout'),
      )
      expectFailure(reply, 401, /Faça login novamente/)
      expect(await revision()).to.equal(before)
    })

    it('its session is ended while the key that it asks for waits to be made [KEY-21]', async () => {
      const owner = await panelUser(api, company)
      const page = '/painel/integracoes/chaves'
      const form = hiddenFields((await owner.get(`${page}/nova`)).html, page)
      const { status } = await endWhileBlocked(
        () => owner.post(page, { ...form, name: 'Loja', scopes: 'catalog:read' }),
        () =>
          api.core.pool.query('update ops.sessions set revoked_at = clock_timestamp() where user_id = $1', [owner.id]),
      )
      expect(status).to.equal(401)
      const { rows } = await api.core.pool.query('select from read.api_keys where company_id = $1', [company.id])
      expect(rows).to.have.length(1)
    })
  })
})
