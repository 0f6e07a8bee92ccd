import type { TestPanel } from '../../support/browser.ts'
import type { Samples } from './sample.ts'

const HOME = '/configuracoes'

const paymentTypeOf = ({ company }: TestPanel): Promise<number> => company.paymentType('credit_account', '2.50')

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
  [`${HOME}/perfis/:role`]: async () => `${HOME}/perfis/clerk`,
  [`${HOME}/empresa`]: async () => `${HOME}/empresa`,
  [`${HOME}/teste`]: async () => `${HOME}/teste`,
  [`${HOME}/teste/esvaziar`]: async () => `${HOME}/teste/esvaziar`,
  [`${HOME}/formas-de-pagamento/nova`]: async () => `${HOME}/formas-de-pagamento/nova`,
  [`${HOME}/formas-de-pagamento/:id`]: async (panel) => `${HOME}/formas-de-pagamento/${await paymentTypeOf(panel)}`,
  [`${HOME}/usuarios/novo`]: async () => `${HOME}/usuarios/novo`,
  ...Object.fromEntries(users),
}
