import { expect } from 'chai'
import { changeOwnPassword } from '#access/login.ts'
import type { IssuedSession, PanelSession } from '#access/sessions.ts'
import { inviteUser } from '#commands/invitations.ts'
import { forgetPerson } from '#commands/people/forget-person.ts'
import { changePassword } from '#commands/users.ts'
import { isRefusal } from '#ledger/command.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import { Unavailable, WrongShardError } from '#lib/errors.ts'
import { accessOnShard } from '#sharding/cross-shard-access.ts'
import { comparePersons } from '#sharding/person-sweep.ts'
import { useDatabase } from '../support/database.ts'
import { cheapHash } from '../support/passwords.ts'
import { until } from '../support/wait.ts'
import { openTwoShards, PASSWORD, type TwoShards } from './two-shards.ts'

const FROM = { address: '192.0.2.1', requestId: '019990c5-0000-7000-8000-000000000001' }
const IN_PANEL = { address: FROM.address, keeps: 'cookie', kept: null } as const
const NEXT = 'uma senha nova'

describe('people with companies on two shards', () => {
  const [mainDatabase, southDatabase] = [useDatabase(), useDatabase()]
  let all: TwoShards
  let email: string
  let inMain: { id: number; userId: number }
  let inSouth: { id: number; userId: number }
  let people = 0

  before(async () => {
    all = await openTwoShards(mainDatabase.url, southDatabase.url)
  })
  beforeEach(async () => {
    email = `pessoa${++people}@loja.example`
    inMain = await all.company('main', email)
    inSouth = await all.company('south', email)
  })
  afterEach(() => all.away('south', false))
  after(() => all.close())

  async function memberships(password = PASSWORD) {
    const outcome = await all.access.login.logIn({ email, password }, IN_PANEL)
    if (outcome.kind !== 'loggedIn') throw new Error(outcome.kind)
    return outcome.memberships
  }
  async function enter(companyId: number, password = PASSWORD): Promise<PanelSession & IssuedSession> {
    const chosen = (await memberships(password)).find(({ holder }) => holder.companyId === companyId)
    if (!chosen) throw new Error(`company ${companyId} is not to be chosen`)
    const issued = await all.access.sessions.issue(chosen.holder)
    const found = await all.access.sessions.find(issued.token)
    if (!found) throw new Error('there is no session')
    return { ...found, ...issued }
  }
  const till = async (companyId: number) => {
    const chosen = (await memberships()).find(({ holder }) => holder.companyId === companyId)
    return (await all.access.tokens.issue(chosen!.holder)).token
  }
  const change = (session: PanelSession, shard: 'main' | 'south', current = PASSWORD, next = NEXT) =>
    changeOwnPassword({ login: all.access.login, writer: all[shard].writer }, session, { current, next }, FROM)
  const rowsOf = async (table: string) =>
    (
      await all.main.pool.query(`select from ops.${table} where ${table === 'persons' ? 'email' : 'key'} = $1`, [
        table === 'persons' ? email : Buffer.from(email),
      ])
    ).rowCount

  it('log in once and choose either company, at the counter too [SHARD-25]', async () => {
    expect((await memberships()).map(({ holder }) => holder.companyId)).to.deep.equal([inMain.id, inSouth.id])
    for (const { id } of [inMain, inSouth]) {
      const session = await enter(id)
      expect(session).to.include({ companyId: id, email })
      const token = await till(id)
      const found = await all.access.tokens.find(token)
      expect(found).to.include({ companyId: id, email })
      const renewed = await all.access.tokens.renew(found!, token)
      expect(await all.access.tokens.find(token)).to.include({ companyId: id })
      expect(await all.access.tokens.renew(found!, token)).to.deep.equal(renewed)
      expect(await all.access.tokens.find(renewed!.token)).to.include({ companyId: id })
      expect(await all.access.tokens.find(token)).to.equal(null)
      await all.access.sessions.revoke(session)
      expect(await all.access.sessions.isLive(session.token)).to.equal(false)
    }
  })

  it('are not shown on a shard without their company [SHARD-29]', async () => {
    const { token } = await enter(inSouth.id)
    for (const [shard, outcome] of [
      ['south', 'PanelSession'],
      ['main', 'Moved'],
    ] as const) {
      const { sessions } = accessOnShard(shard, all.access, all.directory)
      const found = await sessions.find(token).catch((error: unknown) => error)
      expect(found instanceof WrongShardError ? 'Moved' : 'PanelSession').to.equal(outcome)
      const admitted = await sessions.admit(token).catch((error: unknown) => error)
      expect(admitted instanceof WrongShardError ? 'Moved' : 'PanelSession').to.equal(outcome)
      const isLive = await sessions.isLive(token).catch((error: unknown) => error)
      expect(isLive instanceof WrongShardError ? 'Moved' : isLive === true && 'PanelSession').to.equal(outcome)
      expect(await sessions.find(`${token.slice(0, -2)}xx`)).to.equal(null)
    }
  })

  it('log in to reachable shards; sessions of the other shard are unavailable, not ended [SHARD-25]', async () => {
    const { token } = await enter(inSouth.id)
    all.away('south', true)
    expect((await memberships()).map(({ holder }) => holder.companyId)).to.deep.equal([inMain.id])
    expect(all.told).to.include('sharding: login without the companies of shard south')
    expect(await all.access.sessions.find(token).catch((error: unknown) => error)).to.be.instanceOf(Unavailable)
    all.away('south', false)
    expect(await all.access.sessions.find(token)).to.include({ companyId: inSouth.id })
  })

  it('change the password on one shard, which ends all sessions on both before the answer [SHARD-26]', async () => {
    for (const shard of ['main', 'south'] as const) {
      const before = shard === 'main' ? PASSWORD : NEXT
      const after = shard === 'main' ? NEXT : PASSWORD
      const chosen = await memberships(before)
      const open = await Promise.all(chosen.map(({ holder }) => all.access.sessions.issue(holder)))
      const tills = await Promise.all(chosen.map(({ holder }) => all.access.tokens.issue(holder)))
      const session = await enter(shard === 'main' ? inMain.id : inSouth.id, before)
      expect(await change(session, shard, before, after)).to.deep.equal({ kind: 'changed' })
      // A login with the old password that issues its session only now gets one that has ended.
      for (const { holder } of chosen) open.push(await all.access.sessions.issue(holder))
      for (const { token } of [session, ...open]) expect(await all.access.sessions.find(token)).to.equal(null)
      for (const { token } of tills) expect(await all.access.tokens.find(token)).to.equal(null)
      expect(await all.access.login.logIn({ email, password: before }, IN_PANEL)).to.deep.equal({ kind: 'wrong' })
      await enter(inMain.id, after)
      await enter(inSouth.id, after)
    }
  })

  it('change it while the other shard is down: the old password does not work there afterwards [SHARD-26]', async () => {
    const other = all.another()
    const { token } = await enter(inSouth.id)
    expect(await other.access.sessions.find(token)).to.include({ companyId: inSouth.id })
    const session = await enter(inMain.id)
    all.away('south', true)
    expect(await change(session, 'main')).to.deep.equal({ kind: 'changed' })
    expect(all.told).to.include('sharding: new password has not reached shard south')
    all.away('south', false)
    expect(await all.access.sessions.find(token)).to.equal(null)
    await until(async () => (await other.access.sessions.find(token)) === null)
    // The outdated copy is harmless, and is removed automatically.
    const generations = async () =>
      (await all.south.pool.query('select generation from ops.persons where email = $1', [email])).rows
    expect(await generations()).to.deep.equal([{ generation: 0 }])
    for await (const _page of comparePersons(all.persons, 'south'));
    expect(await generations()).to.deep.equal([{ generation: 1 }])
    expect(await enter(inSouth.id, NEXT)).to.include({ companyId: inSouth.id, personGeneration: 1 })
  })

  it('change it once for concurrent requests on both shards [SHARD-26]', async () => {
    const sessions = [await enter(inMain.id), await enter(inSouth.id)] as const
    const outcomes = await Promise.all([
      change(sessions[0], 'main', PASSWORD, 'senha primeira'),
      change(sessions[1], 'south', PASSWORD, 'senha segunda'),
    ])
    const changed = outcomes.findIndex((outcome) => !isRefusal(outcome) && outcome.kind === 'changed')
    const other = outcomes[1 - changed] as object
    expect('refused' in other || ('kind' in other && other.kind === 'wrong'), JSON.stringify(outcomes)).to.equal(true)
    await enter(inSouth.id, ['senha primeira', 'senha segunda'][changed])
  })

  it('keep the newest password if an owner sets one on a shard with an outdated copy [SHARD-26]', async () => {
    const set = async (shard: 'main' | 'south', company: typeof inMain, password: string) =>
      runAsSystem(all[shard].writer, company.id, changePassword, {
        id: company.userId,
        password_hash: await cheapHash(password),
      })
    all.away('south', true)
    await set('main', inMain, 'primeira senha')
    all.away('south', false)
    await set('south', inSouth, 'segunda senha')
    await enter(inMain.id, 'segunda senha')
    const { rows } = await all.main.pool.query('select generation from ops.persons where email = $1', [email])
    expect(rows).to.deep.equal([{ generation: 2 }])
  })

  it('join a company on another shard with their password, or choose one, once [SHARD-25] [PANEL-52]', async () => {
    const host = await all.company('south')
    for (const [invited, password] of [
      [(await all.company('main')).email, PASSWORD],
      ['nova@loja.example', 'a primeira senha'],
    ] as const) {
      const { link, ...made } = await all.access.invitations.create(invited)
      const fields = { name: 'Convidada', email: invited, role: 'clerk' as const, ...made }
      await runAsSystem(all.south.writer, host.id, inviteUser, fields)
      expect(await all.access.invitations.send({ link }, { email: invited, companyId: host.id })).to.equal(true)
      const code = new URL(link).searchParams.get('codigo') as string
      expect(await all.another().access.invitations.find(code)).to.include({ companyId: host.id, email: invited })
      if (password === PASSWORD)
        expect(await all.access.invitations.accept(code, 'outra senha', FROM)).to.deep.equal({ kind: 'wrong' })
      expect(await all.access.invitations.accept(code, password, FROM)).to.deep.equal({ kind: 'joined' })
      expect(await all.access.invitations.accept(code, password, FROM)).to.deep.equal({ kind: 'over' })
      email = invited
      expect(await enter(host.id, password)).to.include({ companyId: host.id })
    }
  })

  describe('exchange their session for one of the other company', () => {
    const holderOf = async (companyId: number) =>
      (await memberships()).find(({ holder }) => holder.companyId === companyId)!.holder
    const ways = () => [
      { from: inMain.id, to: inSouth.id, shard: 'main' as const },
      { from: inSouth.id, to: inMain.id, shard: 'south' as const },
    ]
    const isLive = async (issued: IssuedSession | null) =>
      (await all.access.sessions.find(issued?.token ?? '')) !== null

    it('with the same expiry, and end the old one [PANEL-341] [PANEL-343]', async () => {
      for (const { from, to } of ways()) {
        const session = await enter(from)
        const issued = await all.access.sessions.exchange(session, await holderOf(to))
        expect(issued?.expiresAt).to.equal(session.expiresAt)
        expect(await all.access.sessions.find(issued?.token ?? '')).to.include({ companyId: to, personGeneration: 0 })
        expect(await all.another().access.sessions.find(session.token)).to.equal(null)
        expect(await all.access.sessions.exchange(session, await holderOf(to))).to.equal(null)
      }
    })

    it('on the same shard too [PANEL-341]', async () => {
      const second = await all.company('south', email)
      const session = await enter(inSouth.id)
      const issued = await all.access.sessions.exchange(session, await holderOf(second.id))
      expect(await all.access.sessions.find(issued?.token ?? '')).to.include({ companyId: second.id })
      expect(await isLive(session)).to.equal(false)
    })

    it('in vain if the password changed before or changes afterwards [PANEL-341]', async () => {
      let [current, next] = [PASSWORD, NEXT]
      for (const { from, to, shard } of ways()) {
        const [early, late] = [await enter(from, current), await enter(from, current)]
        const holder = (await memberships(current)).find((one) => one.holder.companyId === to)!.holder
        const before = await all.access.sessions.exchange(early, holder)
        expect(await isLive(before)).to.equal(true)
        expect(await change(late, shard, current, next)).to.deep.equal({ kind: 'changed' })
        const after = await all.access.sessions.exchange(late, holder)
        for (const one of [before, after, early, late]) expect(await isLive(one)).to.equal(false)
        ;[current, next] = [next, current]
      }
    })

    it('twenty times during a password change, and none stays active [PANEL-341]', async () => {
      const other = all.another()
      for (const [shard, away] of [
        ['main', 'south'],
        ['south', 'main'],
      ] as const) {
        email = `pessoa${++people}@loja.example`
        const [here, there] = [await all.company(shard, email), await all.company(away, email)]
        const asking: (PanelSession & IssuedSession)[] = []
        for (let n = 0; n < 20; n++) asking.push(await enter(here.id))
        const holder = await holderOf(there.id)
        const exchanges = asking.map((one, n) => (n % 2 ? all : other).access.sessions.exchange(one, holder))
        const [issued, changed] = await Promise.all([
          Promise.all(exchanges),
          change(asking[0] as PanelSession, shard, PASSWORD, NEXT),
        ])
        expect(changed).to.deep.equal({ kind: 'changed' })
        for (const one of [...issued, ...asking]) expect(await isLive(one)).to.equal(false)
      }
    })

    it('once for twenty concurrent requests [PANEL-341]', async () => {
      for (const { from, to } of ways()) {
        const session = await enter(from)
        const holder = await holderOf(to)
        const exchanges = Array.from({ length: 20 }, () => all.access.sessions.exchange(session, holder))
        expect((await Promise.all(exchanges)).filter((one) => one !== null)).to.have.length(1)
      }
    })

    it('not while the other shard is down: the current session stays active [PANEL-341]', async () => {
      const session = await enter(inMain.id)
      const holder = await holderOf(inSouth.id)
      all.away('south', true)
      const exchanged = await all.access.sessions.exchange(session, holder).catch((error: unknown) => error)
      expect(exchanged).to.be.instanceOf(Unavailable)
      expect(await isLive(session)).to.equal(true)
    })
  })

  it('get a password reset link that expires with a password change on any shard [PANEL-342]', async () => {
    all.access.passwordLinks.ask(email)
    await until(() => all.mailed.some(({ to }) => to[0] === email))
    const code = /codigo=([\w-]+)/.exec(all.mailed.find(({ to }) => to[0] === email)?.text ?? '')?.[1] as string
    expect(await change(await enter(inSouth.id), 'south')).to.deep.equal({ kind: 'changed' })
    expect(await all.access.passwordLinks.use(code, 'senha de quem tem o link', FROM.requestId)).to.equal(false)
    await enter(inMain.id, NEXT)
  })

  it('get a password reset link from any shard [SHARD-25]', async () => {
    const lonely = await all.company('south')
    all.access.passwordLinks.ask(lonely.email)
    await until(() => all.mailed.some(({ to }) => to[0] === lonely.email))
    const { text } = all.mailed.find(({ to }) => to[0] === lonely.email)!
    const code = /codigo=([\w-]+)/.exec(text)?.[1] as string
    expect(await all.access.passwordLinks.use(code, NEXT, FROM.requestId)).to.equal(true)
    expect(await all.access.passwordLinks.use(code, 'mais uma vez', FROM.requestId)).to.equal(false)
    email = lonely.email
    await enter(lonely.id, NEXT)
  })

  it('are erased on one shard and stay on the other; the last erasure removes login and address [SHARD-27] [PRIV-36]', async () => {
    const second = await all.company('south', email)
    const { token } = await enter(inSouth.id)
    const forget = (shard: 'main' | 'south', { id, userId }: typeof inMain) =>
      runAsSystem(all[shard].writer, id, forgetPerson, {
        kind: 'user',
        id: userId,
        ground: 'request',
        queue: false,
        retention_years: 5,
      } as never)
    const forgotten = async (shard: 'main' | 'south', company: typeof inMain) => {
      await all[shard].pool.query(`update companies set active_owners = '[0, 1, 99]' where company_id = $1`, [
        company.id,
      ])
      const answer = await forget(shard, company)
      expect(isRefusal(answer), JSON.stringify(answer)).to.equal(false)
      await all.settled()
    }
    await forgotten('main', inMain)
    expect((await memberships()).map(({ holder }) => holder.companyId)).to.deep.equal([inSouth.id, second.id])
    expect(await all.access.sessions.find(token)).to.include({ companyId: inSouth.id })
    await forgotten('south', inSouth)
    expect(await all.access.sessions.find(token)).to.equal(null)
    expect(await rowsOf('persons')).to.equal(1)
    await forgotten('south', second)
    expect([await rowsOf('persons'), await rowsOf('directory_entries')]).to.deep.equal([0, 0])
    expect(await all.access.login.logIn({ email, password: PASSWORD }, IN_PANEL)).to.deep.equal({ kind: 'wrong' })
  })

  it('are recognised by login limits through a till token of the other shard [SHARD-25] [TOKEN-10]', async () => {
    const kept = await till(inSouth.id)
    const guess = (token: string | null, address: string) =>
      all.access.login.logIn({ email, password: 'errada demais' }, { address, keeps: 'token', kept: token })
    for (let n = 0; n < 10; n++) await guess(null, `2001:db8:${n}::`)
    expect(await guess(null, '2001:db8:99::')).to.have.property('kind', 'limited')
    expect(await guess(kept, '2001:db8:98::')).to.have.property('kind', 'wrong')
  })
})
