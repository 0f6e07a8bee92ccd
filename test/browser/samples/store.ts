import { v7 as uuidv7 } from 'uuid'
import { createItem } from '#commands/item-commands.ts'
import { requestRefund } from '#commands/order-attempts.ts'
import { acknowledgeAlarm, placeOrder } from '#commands/order-commands.ts'
import { createStore } from '#commands/store-commands.ts'
import type { TestPanel } from '../../support/browser.ts'
import { alarmedOrder, overpaidCharge, paymentTold, placedOrder } from '../../support/orders.ts'
import type { Samples } from './sample.ts'

const HOME = '/loja'

let opened = 0

async function storeOf({ company }: TestPanel): Promise<{ id: number; alias: string }> {
  const alias = `loja-${company.id}-${++opened}`
  return company.run(createStore, { alias, commission_percentage: '7.5', sandbox: true, access_token: 'TEST-token' })
}

const orderOf = async (panel: TestPanel): Promise<number> => alarmedOrder(panel.company, (await storeOf(panel)).alias)

/**
 * Order of goods with stock and three payments: one alarm is acknowledged, a partial refund is pending, one payment is
 * disputed.
 */
async function eventfulOrder(panel: TestPanel): Promise<number> {
  const { company } = panel
  const { alias } = await storeOf(panel)
  const item = await company.run(createItem, {
    type: 'product',
    name: 'Cesta de café da manhã',
    price: '46.30',
    stock: '5',
  })
  const address = { street: 'Rua da Aurora', number: '77', district: 'Boa Vista', city: 'Recife', state: 'PE' } as const
  const customer = { name: 'Maria da Silva', phone: '81987654321' }
  const order = { store_alias: alias, customer, delivery: { method: 'delivery', address } } as const
  const { id } = await company.run(placeOrder, { ...order, items: [{ catalog_item_id: item.id, quantity: '2' }] })
  await paymentTold(company, id, 'approved')
  const provider_payment_id = await paymentTold(company, id, 'approved')
  const disputed = await paymentTold(company, id, 'approved')
  await company.run(acknowledgeAlarm, { id, provider_payment_id })
  const restock = [{ catalog_item_id: item.id, quantity: '1' }]
  await company.run(requestRefund, { id, refund_id: uuidv7(), idempotency_key: uuidv7(), amount: '10.00', restock })
  await paymentTold(company, id, 'in_mediation', disputed)
  return id
}

export const storeSamples: Samples = {
  [HOME]: async (panel) => {
    await orderOf(panel)
    return HOME
  },
  [`${HOME}/pedidos/novo`]: async (panel) => {
    await storeOf(panel)
    return `${HOME}/pedidos/novo`
  },
  [`${HOME}/pedidos/:id`]: async (panel) => `${HOME}/pedidos/${await eventfulOrder(panel)}`,
  [`${HOME}/pedidos/:id/esquecer`]: async (panel) => `${HOME}/pedidos/${await orderOf(panel)}/esquecer`,
  [`${HOME}/pedidos/:id/cancelar`]: async (panel) =>
    `${HOME}/pedidos/${await placedOrder(panel.company, (await storeOf(panel)).alias)}/cancelar`,
  [`${HOME}/pedidos/:id/credito`]: async (panel) => {
    const { order } = await overpaidCharge(panel.company, (await storeOf(panel)).alias)
    return `${HOME}/pedidos/${order}/credito`
  },
  [`${HOME}/pedidos/:id/devolver`]: async (panel) => `${HOME}/pedidos/${await eventfulOrder(panel)}/devolver`,
  // Without the provider's answer: a refusal.
  [`${HOME}/conectar`]: async () => `${HOME}/conectar`,
  [`${HOME}/lojas/nova`]: async () => `${HOME}/lojas/nova`,
  [`${HOME}/lojas/:id`]: async (panel) => `${HOME}/lojas/${(await storeOf(panel)).id}`,
  [`${HOME}/lojas/:id/editar`]: async (panel) => `${HOME}/lojas/${(await storeOf(panel)).id}/editar`,
}
