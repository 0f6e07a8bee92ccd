import { expect } from 'chai'
import { createApiAuthenticator } from '#access/api-authenticator.ts'
import { hashKey } from '#access/api-keys.ts'
import { createSessions, type PanelSession } from '#access/sessions.ts'
import { createTokens } from '#access/sync-access.ts'
import { createStore } from '#commands/stores.ts'
import { createUser } from '#commands/users.ts'
import { interfaceProblems } from '#http/middleware/problem-handler.ts'
import { acceptsSideWrites } from '#ledger/migration-state.ts'
import { Unavailable, WrongShardError } from '#lib/errors.ts'
import { createLiveUpdates } from '#live/updates.ts'
import { inTransaction } from '#postgres/transaction.ts'
import { findStore } from '#queries/stores.ts'
import { noteRefusals } from '#refused-sales/refused-sales.ts'
import {
  closeWrites,
  MigrationOutOfOrder,
  markArriving,
  markLeft,
  openWrites,
  pauseBackgroundWork,
} from '#sharding/write-fence.ts'
import { LONGEST_LEASE_MS, leaseDue } from '#webhooks/delivery-leases.ts'
import type { TestCompany } from '../support/api.ts'
import { vault } from '../support/master-key.ts'
import { openCounter } from '../support/offline-sales.ts'
import { panelUser, textIn } from '../support/panel.ts'
import { createTestUser, logIn, tillWith } from '../support/till.ts'
import { useApi } from '../support/use-api.ts'
import { until } from '../support/wait.ts'

const CATEGORIES = '/painel/catalogo/categorias'

const thrown = (work: Promise<unknown>) => work.then(() => null).catch((error: unknown) => error)

describe('a company under migration', () => {
  const api = useApi({ log: () => {} })
  let company: TestCompany
  let other: TestCompany

  beforeEach(async () => {
    company = await api.company()
    other = await api.company()
  })

  const pool = () => api.core.pool
  const register = (of: TestCompany, name: string) => of.post('/catalog/categories', { name })
  const names = async (of: TestCompany): Promise<string[]> =>
    (await of.get('/catalog/categories?limit=200')).body.data.map(({ name }: { name: string }) => name)

  describe('that is leaving', () => {
    it('refuses writes for a moment, and answers reads; other companies are not affected [SHARD-41]', async () => {
      await register(company, 'Antes')
      const { id } = (await company.post('/webhooks', { url: 'http://127.0.0.1:9/', events: ['basic'] })).body.data
      const person = await panelUser(api, company)
      await closeWrites(pool(), company.id)
      const [refused, accepted] = await Promise.all([register(company, 'Durante'), register(other, 'Durante')])
      expect(refused.status).to.equal(503)
      expect(refused.headers.get('retry-after')).to.equal('1')
      expect(refused.body.error.code).to.equal('unavailable')
      expect(accepted.status).to.equal(201)
      expect((await company.post(`/webhooks/${id}/test`)).status).to.equal(503)
      const batch = { items: [{ external_id: 'c1', name: 'Ana' }] }
      expect((await company.post('/customers/batch', batch)).status).to.equal(503)
      const page = await person.submit(`${CATEGORIES}/novo`, { name: 'Painel' }, CATEGORIES)
      expect(page.status).to.equal(503)
      expect(textIn(page.html)).to.include('Tente de novo em instantes')
      expect(await names(company)).to.deep.equal(['Antes'])
      await openWrites(pool(), company.id)
      expect((await register(company, 'Depois')).body.data.id).to.equal(2)
      expect(await names(company)).to.deep.equal(['Antes', 'Depois'])
    })

    it('refuses logins and sales that would be lost [SHARD-46]', async () => {
      const user = await createTestUser(company, 'owner')
      const { body } = await logIn(api.url, user)
      const sale = (await openCounter(company)).sale('pdv-1')
      await closeWrites(pool(), company.id)
      const holder = { userId: user.id, companyId: company.id, generation: 0, personGeneration: 0 }
      expect(await thrown(createSessions(pool(), () => {}).issue(holder))).to.be.instanceOf(Unavailable)
      expect((await logIn(api.url, user)).status).to.equal(503)
      const till = tillWith(api.url, user, body.data.token)
      expect((await till.call('GET', '/sync/config')).status).to.equal(200)
      expect((await till.call('POST', '/sync/sales', { sales: [sale] })).status).to.equal(503)
      expect((await till.call('POST', '/auth/refresh')).status).to.equal(503)
      const again = { name: user.name, email: user.email, role: 'owner' as const, password_hash: 'x' }
      const elsewhere = { ...holder, companyId: other.id, userId: (await other.run(createUser, again)).id }
      const sessions = createSessions(pool(), () => {})
      const { token } = await sessions.issue(elsewhere)
      const asking = (await sessions.find(token)) as PanelSession
      expect(await thrown(sessions.exchange(asking, holder))).to.be.instanceOf(Unavailable)
      expect(await sessions.isLive(token)).to.equal(true)
      const wrong = {
        offline_id: 'x',
        status: 'error',
        sale_id: null,
        code: 'invalid',
        message: '',
        errors: {},
      } as const
      const note = () => noteRefusals(pool(), holder, [{ sale: {}, result: wrong }])
      expect(await thrown(note())).to.be.instanceOf(Unavailable)
      await openWrites(pool(), company.id)
      expect(await note()).to.deep.equal([wrong])
      expect((await till.call('POST', '/auth/refresh')).status).to.equal(200)
    })

    it('has all accepted requests in its ledger and no refused one, whatever was under way [SHARD-41]', async () => {
      const answers = Array.from({ length: 60 }, (_, n) => register(company, `C${n}`))
      await Promise.race(answers)
      await closeWrites(pool(), company.id)
      const sealed = new Set(await names(company))
      const replies = await Promise.all(answers)
      for (const [n, { status }] of replies.entries()) expect(status === 201, `C${n}`).to.equal(sealed.has(`C${n}`))
      expect(replies.every(({ status }) => [201, 503].includes(status))).to.equal(true)
      expect(new Set(await names(company))).to.deep.equal(sealed)
    })
  })

  it('is never answered from outdated data after it has left, by any look-up [SHARD-42]', async () => {
    const user = await createTestUser(company, 'owner')
    const session = await createSessions(pool(), () => {}).issue({
      ...{ userId: user.id, companyId: company.id, generation: 0, personGeneration: 0 },
    })
    const { body } = await logIn(api.url, user)
    const alias = `loja-${company.id}`
    await company.run(createStore, { alias, commission_percentage: '0', sandbox: true })
    const ended = new Promise<void>((resolve) => {
      const live = createLiveUpdates({ databaseUrl: api.databaseUrl, pool: pool(), onError: () => {} })
      live.subscribe(company.id, 0, { moved: () => {}, ended: () => void live.close().then(resolve) })
    })
    const gate = createApiAuthenticator(pool(), { perMinute: 1_000, perDay: 1_000, bytesPerDay: 1_000_000 })
    const ways = {
      key: () => gate.admit(hashKey(company.key)),
      session: () => createSessions(pool(), () => {}).find(session.token),
      'call of the panel': () => createSessions(pool(), () => {}).admit(session.token),
      'open page': () => createSessions(pool(), () => {}).isLive(session.token),
      token: () => createTokens(pool(), { days: null, secret: Buffer.alloc(32) }).find(body.data.token),
      store: () => findStore(pool(), vault, alias),
    }
    for (const [way, ask] of Object.entries(ways)) expect(await thrown(ask()), way).to.equal(null)
    await closeWrites(pool(), company.id)
    for (const [way, ask] of Object.entries(ways)) expect(await thrown(ask()), way).to.equal(null)
    await markLeft(pool(), company.id)
    await ended
    for (const [way, ask] of Object.entries(ways)) expect(await thrown(ask()), way).to.be.instanceOf(WrongShardError)
    expect((await company.get('/me')).status).to.equal(503)
    expect((await other.get('/me')).status).to.equal(200)
    await markArriving(pool(), company.id)
    for (const [way, ask] of Object.entries(ways)) expect(await thrown(ask()), way).to.be.instanceOf(WrongShardError)
  })

  it('changes state idempotently, and never in a way that loses data [SHARD-40]', async () => {
    const state = async () =>
      (await pool().query('select move from ops.ledgers where company_id = $1', [company.id])).rows[0].move
    const refused = async (step: typeof openWrites) =>
      expect(await thrown(step(pool(), company.id)), `${step.name} of ${await state()}`).to.be.instanceOf(
        MigrationOutOfOrder,
      )
    for (const step of [markLeft, markArriving]) await refused(step)
    for (const [step, reached] of [
      [pauseBackgroundWork, 'paused'],
      [closeWrites, 'leaving'],
      [openWrites, null],
      [pauseBackgroundWork, 'paused'],
      [openWrites, null],
      [closeWrites, 'leaving'],
      [markLeft, 'left'],
    ] as const) {
      await step(pool(), company.id)
      await step(pool(), company.id)
      expect(await state()).to.equal(reached)
    }
    for (const step of [openWrites, closeWrites, pauseBackgroundWork]) await refused(step)
    await markArriving(pool(), company.id)
    await markArriving(pool(), company.id)
    for (const step of [markLeft, closeWrites, pauseBackgroundWork]) await refused(step)
    await openWrites(pool(), company.id)
    await openWrites(pool(), company.id)
    expect(await state()).to.equal(null)
    await markArriving(pool(), 999_999)
    expect((await pool().query('select revision, move from ops.ledgers where company_id = 999999')).rows).to.deep.equal(
      [{ revision: -1, move: 'arriving' }],
    )
  })

  it('is forwarded to its shard by all interfaces, as long as nothing was answered [SHARD-42]', () => {
    const told: unknown[] = []
    const handle = interfaceProblems(
      () => {},
      (_response, { code }) => told.push(code),
    )
    const pass = (error: unknown, headersSent: boolean) =>
      handle(error, {} as never, { headersSent, locals: {}, destroy: () => told.push('cut') } as never, (passed) =>
        told.push(passed),
      )
    const moved = new WrongShardError(7)
    for (const sent of [false, true]) pass(moved, sent)
    pass(new Unavailable('for a moment'), false)
    expect(told).to.deep.equal([moved, 'cut', 'unavailable'])
  })

  describe('is paused', () => {
    const ROOM = { sound: 256, strained: 64, busy: {} }
    const taking = () => ({ pool: pool(), vault, log: (_: string, error: unknown) => expect.fail(String(error)) })
    const state = async () =>
      (await pool().query('select move from ops.ledgers where company_id = $1', [company.id])).rows[0].move

    /** Pauses, and asserts that it waits until `end` has completed. */
    async function expectWaits(end: () => Promise<unknown>): Promise<void> {
      let isDone = false
      const pausing = pauseBackgroundWork(pool(), company.id).then(() => {
        isDone = true
      })
      await until(async () => (await state()) === 'paused')
      expect(await thrown(pauseBackgroundWork(pool(), company.id, 60))).to.be.instanceOf(Unavailable)
      expect(isDone).to.equal(false)
      await end()
      await pausing
      expect(await state()).to.equal('paused')
      await openWrites(pool(), company.id)
    }

    it('after deliveries, e-mails and payment polls under way have ended [SHARD-45]', async () => {
      const { id } = (await company.post('/webhooks', { url: 'http://127.0.0.1:9/', events: ['basic'] })).body.data
      expect((await company.post(`/webhooks/${id}/test`)).status).to.equal(200)
      const { claims } = await leaseDue(taking(), ROOM, LONGEST_LEASE_MS)
      expect(claims.map(({ company_id }) => company_id)).to.deep.equal([company.id])
      await expectWaits(async () => {
        expect((await leaseDue(taking(), ROOM, LONGEST_LEASE_MS)).claims).to.deep.equal([])
        const delivered = `update ops.webhook_deliveries set status = 'delivered', next_attempt_at = null where company_id = $1`
        await pool().query(delivered, [company.id])
      })
      const claimed = `clock_timestamp() + interval '90 s'`
      await pool().query(
        `insert into ops.notices (company_id, id, kind, data, created_at, email_tries, next_email_at, leased_until)
         values ($1, gen_random_uuid(), 'webhook_switched_off', '{}', now(), 1, now() + interval '1 day', ${claimed})`,
        [company.id],
      )
      await expectWaits(() => pool().query('update ops.notices set leased_until = null'))
      await pool().query(
        `insert into ops.payment_sweeps (company_id, order_id, attempted_at, claimed_passes, leased_until) values ($1, 1, now(), 1, ${claimed})`,
        [company.id],
      )
      await expectWaits(() => pool().query('update ops.payment_sweeps set leased_until = null'))
    })

    it('after transactions with access to its rows have ended; later ones get none [SHARD-45]', async () => {
      const asked = () => inTransaction(pool(), (tx) => acceptsSideWrites(tx, company.id))
      expect(await asked()).to.equal(true)
      let end = () => {}
      let isHeld = false
      const held = inTransaction(pool(), async (tx) => {
        expect(await acceptsSideWrites(tx, company.id)).to.equal(true)
        isHeld = true
        await new Promise<void>((resolve) => {
          end = resolve
        })
      })
      await until(() => isHeld)
      await expectWaits(async () => {
        expect(await asked()).to.equal(false)
        end()
        await held
      })
    })
  })
})
