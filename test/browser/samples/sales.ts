import { CashMovementInput, recordCashMovement } from '#commands/cash-commands.ts'
import { registerTill } from '#commands/till-commands.ts'
import { resolveRefusedSale } from '#privacy/refused-sales.ts'
import type { TestPanel } from '../../support/browser.ts'
import { type Counter, openCounter, upload } from '../../support/offline-sales.ts'
import { createTestUser, openTill } from '../../support/till.ts'
import type { Samples } from './sample.ts'

let made = 0

/** Counter with a product with a long name and low stock. */
const counterOf = ({ company }: TestPanel): Promise<Counter> => openCounter(company, `${++made}`)

/** Sale to a customer, with several items and payments. */
async function saleOf(panel: TestPanel): Promise<number> {
  const counter = await counterOf(panel)
  const number = ++made
  const name = `Mercearia e Padaria Nossa Senhora da Conceição ${number}`
  await panel.company.post('/customers', { name, external_id: `cliente-${number}` })
  const sale = await counter.sell({
    external_id: `pedido-${number}`,
    customer_external_id: `cliente-${number}`,
    items: [
      { catalog_item_id: counter.product, quantity: '1' },
      { description: 'Cesta de café da manhã com entrega marcada', quantity: '1.5', unit_price: '1234.50' },
    ],
    delivery_fee: '10.00',
    payments: [{ payment_type_id: counter.cash, amount: '2000.00' }],
  })
  return sale.id
}

/** Uploaded sale with a receivable and warnings. */
async function uploadedSaleOf(panel: TestPanel): Promise<number> {
  const counter = await counterOf(panel)
  const number = ++made
  const till = await openTill(panel.api.url, panel.company, panel.clerk)
  const amount = 11 * 100_000
  const { results } = await upload(till, [
    counter.sale(`caixa-2-${number}`, {
      items: [{ product_id: counter.product, quantity: 100_000, price: 11, total: amount }],
      total: amount,
      amount_received: amount,
      payments: [{ payment_type_id: counter.account, amount, status: 'pending' }],
    }),
  ])
  return results[0].sale_id
}

/** Uploaded sale that was refused. */
async function refusedSaleOf(panel: TestPanel): Promise<number> {
  const counter = await counterOf(panel)
  const till = await openTill(panel.api.url, panel.company, panel.clerk)
  await upload(till, [counter.sale(`caixa-2-${++made}`, { total: 12, payments: [] })])
  const { rows } = await panel.api.core.pool.query<{ id: number }>(
    'select max(id) as id from ops.refused_sales where company_id = $1',
    [panel.company.id],
  )
  return rows[0]?.id ?? 0
}

/** Uploaded return that was refused: of another's sale. */
async function refusedReturnOf(panel: TestPanel): Promise<string> {
  const till = await openTill(panel.api.url, panel.company, panel.clerk)
  const returned = {
    ...{ offline_id: `caixa-2-dev-${++made}`, sale_id: await saleOf(panel), reason: 'Veio com defeito de fábrica' },
    returned_at: new Date().toISOString(),
    items: [{ line: 0, quantity: 1 }],
    refunds: [{ payment_type_id: (await counterOf(panel)).cash, amount: 10 }],
  }
  await till.post('/sync/returns', { returns: [returned] })
  const { rows } = await panel.api.core.pool.query<{ id: number }>(
    "select max(return_id) as id from offline_returns where company_id = $1 and state = 'refused'",
    [panel.company.id],
  )
  return `/caixas/devolucoes-recusadas/${rows[0]?.id}`
}

/** Movement of another user's drawer, which was refused. */
async function refusedMovementOf(panel: TestPanel): Promise<string> {
  const other = await openTill(panel.api.url, panel.company, await createTestUser(panel.company, 'owner'))
  const till = await openTill(panel.api.url, panel.company, panel.clerk)
  const session_id = `caixa-${++made}`
  const movement = (kind: string) => ({
    ...{ offline_id: `${session_id}-${kind}`, session_id, kind, amount: 100, at: new Date().toISOString() },
  })
  await other.post('/sync/cash', { movements: [movement('opened')] })
  await till.post('/sync/cash', { movements: [{ ...movement('out'), reason: 'Sangria' }] })
  const { rows } = await panel.api.core.pool.query<{ revision: number }>(
    'select max(revision) as revision from refused_movements where company_id = $1',
    [panel.company.id],
  )
  return `/caixas/movimentos-recusados/${rows[0]?.revision}`
}

/** A till of which nothing has come. */
async function companyTillOf({ company }: TestPanel): Promise<number> {
  const key = Buffer.alloc(32, ++made).toString('base64url')
  return (await company.run(registerTill, { name: 'Balcão', x: key, y: key } as never)).id
}

/** Return of a part of a sale to a customer. */
async function returnOf(panel: TestPanel): Promise<number> {
  const cash = await panel.company.paymentType('cash')
  const body = {
    reason: 'Cesta incompleta',
    items: [{ line: 1, quantity: '0.5' }],
    refunds: [{ payment_type_id: cash, amount: '617.25' }],
  }
  const key = { 'idempotency-key': `devolucao-${++made}` }
  const reply = await panel.company.post(`/sales/${await saleOf(panel)}/returns`, body, key)
  if (reply.status !== 201) throw new Error(JSON.stringify(reply.body))
  return reply.body.data.id
}

/** Code of a voucher that has its price. */
async function voucherOf(panel: TestPanel): Promise<string> {
  const credit = await panel.company.paymentType('exchange_credit')
  const body = {
    ...{ reason: 'Cesta incompleta', voucher: true, items: [{ line: 1, quantity: '0.5' }] },
    refunds: [{ payment_type_id: credit, amount: '617.25' }],
  }
  const key = { 'idempotency-key': `vale-${++made}` }
  const reply = await panel.company.post(`/sales/${await saleOf(panel)}/returns`, body, key)
  return reply.body.data.refunds[0].voucher
}

/** A closed session with a sale, a difference and a late movement. */
async function cashSessionOf(panel: TestPanel): Promise<number> {
  const counter = await counterOf(panel)
  const till = await openTill(panel.api.url, panel.company, panel.clerk)
  const session_id = `caixa-1-${++made}`
  const movement = (kind: string, amount: number | null, fields: object = {}) => ({
    ...{ offline_id: `${session_id}-${kind}`, session_id, kind, amount, at: new Date().toISOString() },
    ...fields,
  })
  await upload(till, [counter.sale(`${session_id}-1`, { cash_session_id: session_id })])
  const reply = await till.post('/sync/cash', {
    movements: [
      movement('opened', 150),
      movement('out', 50, { reason: 'Sangria' }),
      movement('closed', null, { counted: { cash: 100 } }),
      movement('in', 20),
    ],
  })
  if (reply.body.summary.error_count > 0) throw new Error(reply.text)
  const { data } = (await panel.company.get(`/cash-sessions?session_id=${session_id}`)).body
  return data[0].id
}

/** An open drawer. */
async function openDrawerOf({ company }: TestPanel): Promise<number> {
  const session_id = `gaveta-${++made}`
  const at = new Date().toISOString()
  const opening = { ...{ offline_id: session_id, session_id, kind: 'opened', amount: 120, at } }
  await company.run(recordCashMovement, CashMovementInput.parse(opening), 'pdv')
  return (await company.get(`/cash-sessions?session_id=${session_id}`)).body.data[0].id
}

export const saleSamples: Samples = {
  '/vendas': async (panel) => {
    await saleOf(panel)
    await uploadedSaleOf(panel)
    return '/vendas'
  },
  '/vendas/:id': async (panel) => `/vendas/${await uploadedSaleOf(panel)}`,
  '/vendas/:id/recibo': async (panel) => `/vendas/${await saleOf(panel)}/recibo`,
  '/vendas/:id/cancelar': async (panel) => `/vendas/${await saleOf(panel)}/cancelar`,
  '/vendas/:id/cliente': async (panel) => `/vendas/${await uploadedSaleOf(panel)}/cliente`,
  '/devolucoes': async (panel) => {
    await returnOf(panel)
    return '/devolucoes'
  },
  '/devolucoes/:id': async (panel) => `/devolucoes/${await returnOf(panel)}`,
  '/vales': async (panel) => {
    await voucherOf(panel)
    return '/vales'
  },
  '/vales/consulta': async (panel) => `/vales/consulta?codigo=${await voucherOf(panel)}`,
  '/vales/consulta/imprimir': async (panel) => `/vales/consulta/imprimir?codigo=${await voucherOf(panel)}`,
  '/vendas/:id/devolver': async (panel) => `/vendas/${await saleOf(panel)}/devolver`,
  '/vendas/:id/documento-fiscal': async (panel) => `/vendas/${await saleOf(panel)}/documento-fiscal`,
  '/caixas': async (panel) => {
    await refusedSaleOf(panel)
    await uploadedSaleOf(panel)
    return '/caixas'
  },
  '/caixas/fechamento': async () => '/caixas/fechamento',
  '/caixas/sessoes': async (panel) => {
    await cashSessionOf(panel)
    return '/caixas/sessoes'
  },
  '/caixas/sessoes/:id': async (panel) => `/caixas/sessoes/${await cashSessionOf(panel)}`,
  '/caixas/sessoes/abrir': async () => '/caixas/sessoes/abrir',
  '/caixas/sessoes/:id/suprimento': async (panel) => `/caixas/sessoes/${await openDrawerOf(panel)}/suprimento`,
  '/caixas/sessoes/:id/sangria': async (panel) => `/caixas/sessoes/${await openDrawerOf(panel)}/sangria`,
  '/caixas/sessoes/:id/fechar': async (panel) => `/caixas/sessoes/${await openDrawerOf(panel)}/fechar`,
  '/caixas/sessoes/:id/explicar': async (panel) => `/caixas/sessoes/${await cashSessionOf(panel)}/explicar`,
  '/caixas/recusadas': async (panel) => {
    await refusedSaleOf(panel)
    return '/caixas/recusadas'
  },
  '/caixas/recusadas/resolvidas': async (panel) => {
    const { api, company, owner } = panel
    const note = 'Registrada de novo no caixa.'
    await resolveRefusedSale(api.core.pool, company.id, await refusedSaleOf(panel), { userId: owner.id, note })
    return '/caixas/recusadas/resolvidas'
  },
  '/caixas/abrir': async () => '/caixas/abrir',
  '/caixas/recuperar': async () => '/caixas/recuperar',
  '/devolucoes/:id/desfazer': async (panel) => `/devolucoes/${await returnOf(panel)}/desfazer`,
  '/caixas/devolucoes-recusadas/:id': refusedReturnOf,
  '/caixas/devolucoes-recusadas/:id/registrar': async (panel) => `${await refusedReturnOf(panel)}/registrar`,
  '/caixas/devolucoes-recusadas/:id/resolver': async (panel) => `${await refusedReturnOf(panel)}/resolver`,
  '/caixas/movimentos-recusados/:revision': refusedMovementOf,
  '/caixas/movimentos-recusados/:revision/registrar': async (panel) => `${await refusedMovementOf(panel)}/registrar`,
  '/caixas/movimentos-recusados/:revision/resolver': async (panel) => `${await refusedMovementOf(panel)}/resolver`,
  '/caixas/aparelhos/:id/encerrar': async (panel) => `/caixas/aparelhos/${await companyTillOf(panel)}/encerrar`,
  '/caixas/aparelhos/:id/perdidas/:from/:to': async (panel) =>
    `/caixas/aparelhos/${await companyTillOf(panel)}/perdidas/2/3`,
  '/caixas/recusadas/:id': async (panel) => `/caixas/recusadas/${await refusedSaleOf(panel)}`,
  '/caixas/recusadas/:id/registrar': async (panel) => `/caixas/recusadas/${await refusedSaleOf(panel)}/registrar`,
  '/caixas/recusadas/:id/corrigir': async (panel) => `/caixas/recusadas/${await refusedSaleOf(panel)}/corrigir`,
}
