import { EventEmitter, once } from 'node:events'
import { expect } from 'chai'
import type { Request, Response } from 'express'
import { adjustRole, createUser, deactivateUser, updateUser } from '#commands/user-commands.ts'
import type { Permission } from '#domain/rights.ts'
import { whileAllowed } from '#panel/panel-live.tsx'
import type { PageContext } from '#panel/panel-route.ts'
import type { TestCompany } from '../support/api.ts'
import { browser, type PanelUser, panelUser } from '../support/panel.ts'
import { cheapHash } from '../support/passwords.ts'
import { createTestUser, expectFailure, openTill } from '../support/till.ts'
import { useApi } from '../support/use-api.ts'

const USERS = '/painel/configuracoes/usuarios'
const NEXT = 'a senha de quem tem o link'
let people = 0

describe('panel: rights that are lost', () => {
  const api = useApi()
  let company: TestCompany
  let owner: PanelUser
  let manager: PanelUser
  let clerk: PanelUser

  const allowManagers = (...permissions: Permission[]) =>
    company.run(adjustRole, { role: 'manager', permissions, return_limit: null, discount_limit: null })
  const join = async (email: string) =>
    (await api.company()).run(createUser, { name: 'Eva', email, role: 'owner', password_hash: await cheapHash('x') })
  const codeIn = ({ html }: { readonly html: string }) => /codigo=(tb_\w+_[\w-]{43})/.exec(html)?.[1] ?? ''
  const send = (path: string, codigo: string) =>
    browser(api.url).post(`/painel/${path}`, { codigo, password: NEXT, repeated: NEXT })

  beforeEach(async () => {
    company = await api.company()
    owner = await panelUser(api, company)
    manager = await panelUser(api, company, 'manager')
    clerk = await panelUser(api, company, 'clerk')
    await allowManagers('manage_users')
  })

  /** What ends a link that a manager made for a clerk, or an invited one. */
  const losses: [string, (person: { readonly id: number; readonly email: string }) => Promise<unknown>][] = [
    ['its maker is deactivated', () => company.run(deactivateUser, { id: manager.id })],
    ['its maker gets another role', () => company.run(updateUser, { id: manager.id, role: 'clerk' })],
    ['the role of its maker loses the permission', () => allowManagers('sell')],
    ['its person joins another company', ({ email }) => join(email)],
    ['its person becomes an owner', ({ id }) => company.run(updateUser, { id, role: 'owner' })],
  ]

  for (const [what, lose] of losses) {
    it(`end a link to a new password when ${what} [ROLE-721]`, async () => {
      const codigo = codeIn(await manager.submit(`${USERS}/${clerk.id}/nova-senha`, {}))
      await lose(clerk)
      expect((await send('nova-senha', codigo)).status).to.equal(410)
      expect((await clerk.get('/painel/clientes')).status).to.equal(200)
      expect((await clerk.logIn()).status).to.equal(303)
    })

    it(`end an invitation when ${what} [ROLE-721]`, async () => {
      const email = `convidada${++people}@loja.example`
      await join(email)
      const codigo = codeIn(await manager.submit(`${USERS}/novo`, { name: 'Eva', role: 'clerk', email }))
      const page = () => browser(api.url).get(`/painel/convite?codigo=${codigo}`)
      expect((await page()).status).to.equal(200)
      const { rows } = await api.core.pool.query('select id from read.users where company_id = $1 and email = $2', [
        company.id,
        email,
      ])
      await lose({ id: rows[0].id, email })
      expect([(await page()).status, (await send('convite', codigo)).status]).to.deep.equal([410, 410])
    })
  }

  it('end a link to a new password when its person is deactivated, not with their session [ROLE-721]', async () => {
    const gone = await panelUser(api, company, 'clerk')
    const link = async ({ id }: PanelUser) => codeIn(await owner.submit(`${USERS}/${id}/nova-senha`, {}))
    const [dead, kept] = [await link(gone), await link(clerk)]
    await company.run(deactivateUser, { id: gone.id })
    await clerk.submit('/painel/clientes', {}, '/painel/sair')
    expect([(await send('nova-senha', dead)).status, (await send('nova-senha', kept)).status]).to.deep.equal([410, 303])
  })

  it('leave a link of an owner for a user of one company as it is [ROLE-721]', async () => {
    const codigo = codeIn(await owner.submit(`${USERS}/${clerk.id}/nova-senha`, {}))
    await company.run(updateUser, { id: clerk.id, role: 'manager' })
    expect((await send('nova-senha', codigo)).status).to.equal(303)
  })

  it('end the tills of a user who gets another role, which logs in again [TOKEN-6]', async () => {
    const user = await createTestUser(company, 'owner')
    const till = await openTill(api.url, company, user)
    expect((await till.get('/sync/status')).status).to.equal(200)
    await company.run(updateUser, { id: user.id, role: 'clerk' })
    expectFailure(await till.get('/sync/status'), 401)
    expect((await (await openTill(api.url, company, user)).get('/sync/status')).status).to.equal(200)
  })

  describe('while a download is under way', () => {
    const visitOf = (rights: () => object | null): PageContext => {
      const session = { permissions: { granted: ['export'] }, seesPersonalData: true }
      const sessions = { find: async () => rights() }
      return { session, context: { access: { sessions } } } as unknown as PageContext
    }
    const SAME = { permissions: { granted: ['export'] }, seesPersonalData: true }
    const request = { headers: {}, originalUrl: '/painel/vendas.csv', secure: false } as unknown as Request

    it('end it when persons are masked [ROLE-725]', async () => {
      let rights: object | null = SAME
      const sending = new EventEmitter()
      const done = whileAllowed(
        visitOf(() => rights),
        request,
        {} as Response,
        async (ended) => {
          sending.emit('begun')
          await once(ended, 'abort')
        },
      )
      await once(sending, 'begun')
      rights = { ...SAME, seesPersonalData: false }
      await done
    })

    it('let it begin only with the rights of its request, however long it waited [ROLE-725]', async () => {
      const redirected: unknown[] = []
      const response = { redirect: (...to: unknown[]) => redirected.push(to) } as unknown as Response
      await whileAllowed(
        visitOf(() => null),
        request,
        response,
        () => expect.fail('nothing is sent'),
      )
      expect(redirected).to.deep.equal([[303, '/painel/vendas.csv']])
    })
  })
})
