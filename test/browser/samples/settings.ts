import { createRole } from '#commands/role-commands.ts'
import { type AdjustedRoles, listOwnRoles, type OwnRole } from '#domain/rights.ts'
import type { TestPanel } from '../../support/browser.ts'
import type { Samples } from './sample.ts'

const HOME = '/configuracoes'

const paymentTypeOf = ({ company }: TestPanel): Promise<number> => company.paymentType('credit_account', '2.50')

/** A role of the company's own, made once. */
async function ownRole({ api, company }: TestPanel): Promise<OwnRole> {
  const find = async () => {
    const roles = `select roles from companies where company_id = $1`
    const { rows } = await api.core.pool.query<{ roles: AdjustedRoles }>(roles, [company.id])
    return listOwnRoles(rows[0]?.roles ?? {})[0]
  }
  if (!(await find())) await company.run(createRole, { name: 'Repositor', copy_of: 'clerk' })
  return (await find()) as OwnRole
}

const users = ['', '/editar', '/desativar', '/esquecer', '/nova-senha', '/remover-verificacao'].map((rest) => [
  `${HOME}/usuarios/:id${rest}`,
  async ({ clerk }: TestPanel) => `${HOME}/usuarios/${clerk.id}${rest}`,
])

const secondFactors = ['aplicativo', 'chave', 'codigos', 'remover'].map((page) => [
  `/conta/verificacao/${page}`,
  async () => `/conta/verificacao/${page}`,
])

export const settingsSamples: Samples = {
  '/conta': async () => '/conta',
  '/conta/senha': async () => '/conta/senha',
  '/conta/pin': async () => '/conta/pin',
  '/conta/bom-dia': async () => '/conta/bom-dia',
  ...Object.fromEntries(secondFactors),
  '/empresas': async () => '/empresas',
  '/primeiros-passos': async () => '/primeiros-passos',
  '/primeiros-passos/negocio': async () => '/primeiros-passos/negocio',
  '/primeiros-passos/negocio/:tipo': async () => '/primeiros-passos/negocio/grocery',
  [HOME]: async (panel) => {
    await paymentTypeOf(panel)
    return HOME
  },
  [`${HOME}/perfis`]: async () => `${HOME}/perfis`,
  [`${HOME}/perfis/novo`]: async () => `${HOME}/perfis/novo`,
  [`${HOME}/perfis/:role`]: async () => `${HOME}/perfis/clerk`,
  [`${HOME}/perfis/:role/remover`]: async (panel) => `${HOME}/perfis/${await ownRole(panel)}/remover`,
  [`${HOME}/empresa`]: async () => `${HOME}/empresa`,
  [`${HOME}/teste`]: async () => `${HOME}/teste`,
  [`${HOME}/teste/esvaziar`]: async () => `${HOME}/teste/esvaziar`,
  [`${HOME}/formas-de-pagamento/nova`]: async () => `${HOME}/formas-de-pagamento/nova`,
  [`${HOME}/formas-de-pagamento/:id`]: async (panel) => `${HOME}/formas-de-pagamento/${await paymentTypeOf(panel)}`,
  [`${HOME}/usuarios/novo`]: async () => `${HOME}/usuarios/novo`,
  ...Object.fromEntries(users),
}
