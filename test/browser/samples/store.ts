import { createStore } from '#commands/stores.ts'
import type { TestPanel } from '../../support/browser.ts'
import { alarmedOrder, placedOrder } from '../../support/orders.ts'
import type { Samples } from './sample.ts'

const HOME = '/loja'

let opened = 0

async function storeOf({ company }: TestPanel): Promise<{ id: number; alias: string }> {
  const alias = `loja-${company.id}-${++opened}`
  return company.run(createStore, { alias, commission_percentage: '7.5', sandbox: true, access_token: 'TEST-token' })
}

const orderOf = async (panel: TestPanel): Promise<number> => alarmedOrder(panel.company, (await storeOf(panel)).alias)

export const storeSamples: Samples = {
  [HOME]: async (panel) => {
    await orderOf(panel)
    return HOME
  },
  [`${HOME}/pedidos/:id`]: async (panel) => `${HOME}/pedidos/${await orderOf(panel)}`,
  [`${HOME}/pedidos/:id/esquecer`]: async (panel) => `${HOME}/pedidos/${await orderOf(panel)}/esquecer`,
  [`${HOME}/pedidos/:id/cancelar`]: async (panel) =>
    `${HOME}/pedidos/${await placedOrder(panel.company, (await storeOf(panel)).alias)}/cancelar`,
  [`${HOME}/lojas/nova`]: async () => `${HOME}/lojas/nova`,
  [`${HOME}/lojas/:id`]: async (panel) => `${HOME}/lojas/${(await storeOf(panel)).id}`,
  [`${HOME}/lojas/:id/editar`]: async (panel) => `${HOME}/lojas/${(await storeOf(panel)).id}/editar`,
}
