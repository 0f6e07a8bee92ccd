import { expect } from 'chai'
import { adjustRole, createRole, removeRole } from '#commands/role-commands.ts'
import { updateUser } from '#commands/user-commands.ts'
import { type AdjustedRoles, listOwnRoles, type OwnRole, ROLE_PRESETS } from '#domain/rights.ts'
import { panelUser, textIn, usePanelUser } from '../support/panel.ts'
import { createTestUser, openTill } from '../support/till.ts'

const ROLES = '/painel/configuracoes/perfis'
const LIMITS = { return_limit: null, discount_limit: '5.00' }

describe('panel: roles of the company', () => {
  const panel = usePanelUser()

  async function listRoles(): Promise<readonly OwnRole[]> {
    const text = 'select roles from companies where company_id = $1'
    const { rows } = await panel.api.core.pool.query<{ roles: AdjustedRoles }>(text, [panel.company.id])
    return listOwnRoles(rows[0]?.roles ?? {})
  }

  async function makeRole(name: string, copy_of: 'clerk' | 'auditor' | 'manager' = 'clerk'): Promise<OwnRole> {
    await panel.company.run(createRole, { name, copy_of })
    return (await listRoles()).at(-1) as OwnRole
  }

  it('are made, named, changed, given and removed by forms [ROLE-1350] [ROLE-1351]', async () => {
    const { user, company, api } = panel
    const made = await user.submit(`${ROLES}/novo`, { name: 'Repositor', copy_of: 'clerk' })
    const [role] = await listRoles()
    expect(made.to).to.include(`/configuracoes/perfis/${role}`)
    const form = { name: 'Estoquista', permissions: ['adjust_stock'], return_limit: '', discount_limit: '0,00' }
    expect((await user.submit(`${ROLES}/${role}`, form)).status).to.equal(303)
    const bia = await panelUser(api, company, 'clerk')
    const edit = `/painel/configuracoes/usuarios/${bia.id}/editar`
    expect((await user.submit(edit, { name: 'Bia', role: String(role) })).status).to.equal(303)
    for (const path of ['/painel/configuracoes', `/painel/configuracoes/usuarios/${bia.id}`, ROLES])
      expect(textIn((await user.get(path)).html), path).to.include('Estoquista')
    expect(textIn((await bia.get('/painel/conta')).html)).to.include('Estoquista')
    expect((await bia.get('/painel/clientes/novo')).status).to.equal(403)
    const held = await user.submit(`${ROLES}/${role}/remover`, {})
    expect(held.status).to.equal(422)
    expect(textIn(held.html)).to.include('têm este perfil: Bia')
    await company.run(updateUser, { id: bia.id, role: 'clerk' })
    expect((await user.submit(`${ROLES}/${role}/remover`, {})).status).to.equal(303)
    expect(await listRoles()).to.deep.equal([])
    const history = textIn((await user.get(`/painel/configuracoes/usuarios/${bia.id}`)).html)
    expect(history).to.include('o perfil de acesso de Caixa para Estoquista').and.include('de Estoquista para Caixa')
  })

  it('decide from the next request on, in the panel and at tills [ROLE-1350]', async () => {
    const { api, company } = panel
    const role = await makeRole('Vendedora')
    const [seller, atTill] = [await panelUser(api, company, role), await createTestUser(company, role)]
    const till = await openTill(api.url, company, atTill)
    expect((await till.get('/sync/config')).body.data.user.role).to.equal('clerk')
    const payables = async () => (await seller.get('/painel/contas-a-pagar')).status
    expect(await payables()).to.equal(403)
    await company.run(adjustRole, { role, permissions: ['see_payables'], ...LIMITS })
    expect(await payables()).to.equal(200)
    expect((await till.get('/sync/status')).status).to.equal(200)
    await company.run(updateUser, { id: atTill.id, role: 'accountant' })
    expect((await till.get('/sync/status')).status).to.equal(401)
  })

  it('that copy an auditor see until a day, and change nothing [ROLE-1350] [ROLE-104]', async () => {
    const { user, api, company } = panel
    const role = await makeRole('Fiscal', 'auditor')
    const form = { name: 'Eva', email: `eva@loja${company.id}.example`, role }
    const refused = await user.submit('/painel/configuracoes/usuarios/novo', form)
    expect(textIn(refused.html)).to.include('auditores precisam dela')
    const guest = await panelUser(api, company, role, { access_until: '2099-12-31' })
    expect((await guest.get('/painel/clientes/novo')).status).to.equal(403)
    expect((await guest.get('/painel/auditoria')).status).to.equal(200)
    const acting = company.run(adjustRole, { role, permissions: ['sell'], ...LIMITS })
    expect(await acting.catch(String)).to.include('validation_failed')
  })

  it('give no rights that their giver lacks, neither by a link to a password [ROLE-1352]', async () => {
    const { api, company, user } = panel
    const role = await makeRole('Gente e gestão', 'manager')
    const permissions = [...ROLE_PRESETS.accountant.granted, 'manage_users', 'manage_company'] as const
    await company.run(adjustRole, { role, permissions: [...permissions], ...LIMITS })
    const people = await panelUser(api, company, role)
    const clerk = await panelUser(api, company, 'clerk')
    const users = '/painel/configuracoes/usuarios'
    const invited = (to: string) => ({ name: 'Rui', email: `${to}@loja${company.id}.example`, role: to })
    for (const [path, fields] of [
      [`${users}/novo`, invited('clerk')],
      [`${users}/novo`, invited('owner')],
      [`${users}/${people.id}/editar`, { name: 'Eu', role: 'manager' }],
      [`${users}/${clerk.id}/nova-senha`, {}],
      [`${ROLES}/novo`, { name: 'Eu também', copy_of: 'manager' }],
      [
        `${ROLES}/${role}`,
        { name: 'Gente', permissions: [...permissions, 'sell'], return_limit: '', discount_limit: '' },
      ],
    ] as const) {
      const answer = await people.submit(path, fields)
      expect(answer.status, path).to.equal(403)
    }
    expect((await people.submit(`${users}/novo`, invited('accountant'))).status).to.be.oneOf([200, 303])
    expect((await user.submit(`${users}/novo`, invited('clerk'))).status).to.be.oneOf([200, 303])
  })

  it('are not both given and removed by two requests at once [ROLE-1351]', async () => {
    const { company, api } = panel
    const bia = await panelUser(api, company, 'clerk')
    for (let round = 0; round < 4; round++) {
      const role = await makeRole(`Perfil ${round}`)
      const acts = [() => company.run(updateUser, { id: bia.id, role }), () => company.run(removeRole, { role })]
      const done = await Promise.allSettled((round % 2 === 0 ? acts : acts.reverse()).map((act) => act()))
      expect(done.map(({ status }) => status).sort()).to.deep.equal(['fulfilled', 'rejected'])
      await company.run(updateUser, { id: bia.id, role: 'clerk' })
    }
  })
})
