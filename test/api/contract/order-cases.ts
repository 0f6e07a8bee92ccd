import { v7 as uuidv7 } from 'uuid'
import { forgetPerson } from '#commands/forget-person.ts'
import { startPayment } from '#commands/order-attempts.ts'
import { createStore } from '#commands/store-commands.ts'
import { ProviderMisconfigured, ProviderRefused } from '#payments/provider-port.ts'
import { send } from '../../support/api.ts'
import { alarmedOrder, overpaidCharge } from '../../support/orders.ts'
import type { Cases } from './case.ts'
import type { World } from './world.ts'

const pix = { method: 'pix', payer: { email: 'ana@exemplo.com.br' } }

/** Alias of a new store, payable with its credentials. */
async function openStore(world: World, credentials: object = { access_token: 'TEST-token' }): Promise<string> {
  const alias = world.unique('loja')
  await world.company.run(createStore, { alias, commission_percentage: '5', sandbox: true, ...credentials })
  return alias
}

/** An ad-hoc item for 10.00. */
const adHoc = (store_alias: string) => ({
  store_alias,
  customer: { name: 'Ana' },
  items: [{ description: 'Bolo', quantity: '1', unit_price: '10.00' }],
})

export async function placeOrder(world: World, alias?: string) {
  const order = { ...adHoc(alias ?? (await openStore(world))), external_id: world.unique('pedido') }
  return world.create('/orders', order)
}

export async function paidOrder(world: World): Promise<number> {
  const { id } = await placeOrder(world)
  world.provider.status = 'approved'
  await world.company.post(`/orders/${id}/payments`, pix, key(world))
  return id
}

const key = (world: World) => ({ 'idempotency-key': world.unique('key') })

export const orderCases: Cases = {
  listStores: {
    200: async (world) => {
      await openStore(world)
      return {}
    },
  },
  listOrders: {
    200: async (world) => {
      const { store_alias, external_id } = await placeOrder(world)
      return { query: { status: 'pending', store_alias, external_id } }
    },
  },
  getOrder: {
    200: async (world) => {
      const { id } = await placeOrder(world)
      world.provider.status = 'approved'
      await world.company.post(`/orders/${id}/payments`, pix, key(world))
      return { params: { id } }
    },
  },
  getOrderByExternalId: { 200: async (world) => ({ params: { external_id: (await placeOrder(world)).external_id } }) },
  forgetOrder: {
    200: async (world) => ({ params: { id: await paidOrder(world) }, body: { ground: 'holder_request' } }),
    retention_required: async (world) => ({
      params: { id: (await placeOrder(world)).id },
      body: { ground: 'holder_request' },
    }),
  },
  cancelOrder: {
    200: async (world) => ({ params: { id: (await placeOrder(world)).id }, body: { reason: 'Desistência' } }),
    order_already_paid: async (world) => {
      const { id } = await placeOrder(world)
      world.provider.status = 'approved'
      await world.company.post(`/orders/${id}/payments`, pix, key(world))
      return { params: { id }, body: {} }
    },
    provider_configuration_invalid: async (world) => {
      const { id } = await placeOrder(world, await openStore(world, {}))
      const attempt = { attempt_id: uuidv7(), idempotency_key: null, payment_method_id: 'pix' }
      await world.company.run(startPayment, { id, ...attempt })
      return { params: { id }, body: {} }
    },
  },
  deliverOrder: {
    200: async (world) => ({ params: { id: await paidOrder(world) } }),
    order_not_paid: async (world) => ({ params: { id: (await placeOrder(world)).id } }),
  },
  dispatchOrder: {
    200: async (world) => ({ params: { id: await paidOrder(world) } }),
    order_not_paid: async (world) => ({ params: { id: (await placeOrder(world)).id } }),
  },
  undoOrderDelivery: {
    200: async (world) => ({ params: { id: await paidOrder(world) } }),
  },
  acknowledgeOrderAlarm: {
    200: async (world) => {
      const id = await alarmedOrder(world.company, await openStore(world))
      const { alarms } = (await world.company.get(`/orders/${id}`)).body.data
      return { params: { id, provider_payment_id: alarms[0].provider_payment_id } }
    },
  },
  keepOrderSurplus: {
    200: async (world) => {
      const { order, customer } = await overpaidCharge(world.company, await openStore(world))
      return { params: { id: order }, body: { customer_id: customer } }
    },
    person_forgotten: async (world) => ({
      params: { id: (await overpaidCharge(world.company, await openStore(world))).order },
      body: { customer_id: (await world.forgotten('/customers')).id },
    }),
  },
  listOrderNotifications: {
    200: async (world) => {
      const { id, store_alias } = await placeOrder(world)
      for (const body of ['{"type":"plan"}', '{"type":', '[1]'])
        await send(`${world.api.url}/webhook/paymentprovider/${store_alias}/${id}`, 'POST', body)
      return { params: { id }, query: { limit: '2' } }
    },
  },
  createOrder: {
    201: async (world) => {
      const item = await world.create('/catalog/items', { name: 'Café', price: '18.90' })
      return {
        body: {
          ...adHoc(await openStore(world)),
          external_id: world.unique('pedido'),
          customer: { name: 'Ana', email: 'ana@exemplo.com.br', document: '52998224725' },
          items: [{ catalog_item_id: item.id, quantity: '2' }],
          delivery_fee: '5.00',
          delivery: { method: 'pickup', due_at: '2026-11-21T15:00:00Z' },
        },
      }
    },
    person_forgotten: async (world) => ({
      body: { ...adHoc(await openStore(world)), customer_id: (await world.forgotten('/customers')).id },
    }),
    duplicate_resource: async (world) => {
      const { store_alias, external_id } = await placeOrder(world)
      return { body: { ...adHoc(store_alias), external_id } }
    },
  },
  refundOrder: {
    201: async (world) => ({
      params: { id: await paidOrder(world) },
      body: { amount: '4.00' },
      headers: key(world),
    }),
    order_not_paid: async (world) => ({
      params: { id: (await placeOrder(world)).id },
      body: {},
      headers: key(world),
    }),
    refund_refused: async (world) => {
      const id = await paidOrder(world)
      world.provider.twistRefund(() => {
        throw new ProviderRefused([{ code: '2063', description: 'not possible' }])
      })
      return { params: { id }, body: {}, headers: key(world) }
    },
    provider_configuration_invalid: async (world) => {
      const id = await paidOrder(world)
      world.provider.twistRefund(() => {
        throw new ProviderMisconfigured('401')
      })
      return { params: { id }, body: {}, headers: key(world) }
    },
  },
  getPaymentOptions: {
    200: async (world) => ({ params: { id: (await placeOrder(world)).id }, query: { bin: '423564' } }),
    provider_configuration_invalid: async (world) => ({
      params: { id: (await placeOrder(world, await openStore(world, { access_token: 'wrong' }))).id },
    }),
  },
  payOrder: {
    201: async (world) => {
      world.provider.status = 'pending'
      return {
        params: { id: (await placeOrder(world)).id },
        body: { method: 'card', brand: 'visa', token: 'cartao', installments: 2, payer: pix.payer },
        headers: key(world),
      }
    },
    order_already_paid: async (world) => {
      const { id } = await placeOrder(world)
      world.provider.status = 'approved'
      await world.company.post(`/orders/${id}/payments`, pix, key(world))
      return { params: { id }, body: pix, headers: key(world) }
    },
    person_forgotten: async (world) => {
      const { id } = await placeOrder(world)
      world.provider.twist(() => {
        throw new ProviderRefused([{ code: '2067', description: 'Invalid user identification number' }])
      })
      await world.company.post(`/orders/${id}/payments`, pix, key(world))
      await world.company.run(forgetPerson, { kind: 'order', id, ground: 'restored_backup', retention_years: 5 })
      return { params: { id }, body: pix, headers: key(world) }
    },
    payment_refused: async (world) => {
      const { id } = await placeOrder(world)
      world.provider.twist(() => {
        throw new ProviderRefused([{ code: '2067', description: 'Invalid user identification number' }])
      })
      return { params: { id }, body: pix, headers: key(world) }
    },
    provider_configuration_invalid: async (world) => {
      const { id } = await placeOrder(world, await openStore(world, {}))
      return { params: { id }, body: pix, headers: key(world) }
    },
  },
}
