import { chargeReceivable } from '#commands/order-charge.ts'
import { placeOrder } from '#commands/order-commands.ts'
import { recordPayment } from '#commands/order-payment-command.ts'
import { payReceivable } from '#commands/receivables-payables.ts'
import type { TestCompany } from './api.ts'

let payments = 0

/** Order for R$ 46,30 in a store, with its id. */
export async function placedOrder(company: TestCompany, store_alias: string, name = 'Maria da Silva'): Promise<number> {
  const items = [{ description: 'Cesta de café da manhã', quantity: '1', unit_price: '46.30' }]
  const customer = { name, email: 'maria@example.com', document: '52998224725' }
  return (await company.run(placeOrder, { store_alias, customer, items })).id
}

/** Reports a payment of the order from the provider, a new one unless it is named; returns its id at the provider. */
export async function paymentTold(
  company: TestCompany,
  id: number,
  provider_status: string,
  provider_payment_id = `pagamento-${++payments}`,
): Promise<string> {
  const told = { provider_payment_id, provider_status, status_detail: null, live_mode: false, attempt_id: null }
  await company.run(recordPayment, { id, ...told })
  return provider_payment_id
}

/** Order that was paid twice. */
export async function alarmedOrder(company: TestCompany, store_alias: string): Promise<number> {
  const id = await placedOrder(company, store_alias)
  await paymentTold(company, id, 'approved')
  await paymentTold(company, id, 'approved')
  return id
}

/** Charge of R$ 80,00 by a link that was paid although R$ 30,00 came at the counter, with its customer. */
export async function overpaidCharge(company: TestCompany, store_alias: string) {
  const { id: customer_id } = (await company.post('/customers', { name: `Ana ${++payments}` })).body.data
  const debt = { description: 'Fiado de março', amount: '80.00', due_date: '2026-12-10', customer_id }
  const account: number = (await company.post('/finance/receivables', debt)).body.data.id
  const order: number = (await company.run(chargeReceivable, { id: account, store_alias })).id
  await company.run(payReceivable, { id: account, amount: '30.00', payment_method: 'cash' })
  await paymentTold(company, order, 'approved')
  return { order, account, customer: customer_id as number }
}
