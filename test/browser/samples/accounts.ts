import { expect } from 'chai'
import type { TestPanel } from '../../support/browser.ts'
import type { Samples } from './sample.ts'

/** Paths of the pages, and of the API resources they show. */
const SIDES = [
  {
    path: '/contas-a-receber',
    resource: '/finance/receivables',
    parties: '/customers',
    party: 'customer_id',
    people: '/clientes',
  },
  {
    path: '/contas-a-pagar',
    resource: '/finance/payables',
    parties: '/suppliers',
    party: 'supplier_id',
    people: '/fornecedores',
  },
] as const

type Side = (typeof SIDES)[number]

let made = 0

async function make({ company }: TestPanel, path: string, fields: object): Promise<number> {
  const reply = await company.post(path, fields)
  expect(reply.status, reply.text).to.equal(201)
  return reply.body.data.id
}

/** Account with a due date in the past or in the future. */
export async function accountOf(
  panel: TestPanel,
  { resource, parties, party }: Side,
  due_date: string,
): Promise<number> {
  const name = `Distribuidora de Alimentos São José ${++made}`
  const description = `Mercadorias entregues em três parcelas, nota ${made}`
  const account = { description, amount: `${made}234.50`, due_date, external_id: `conta-${made}` }
  return make(panel, resource, { ...account, [party]: await make(panel, parties, { name }) })
}

/** Accounts of every state. */
async function accountsOf(panel: TestPanel, side: Side): Promise<string> {
  await accountOf(panel, side, '2099-12-31')
  await accountOf(panel, side, '2020-01-31')
  return side.path
}

/** Account of which a part is paid, and the payment. */
async function paidOf(panel: TestPanel, side: Side): Promise<{ id: number; payment: number }> {
  const id = await accountOf(panel, side, '2099-12-31')
  const body = { amount: '100.00', interest: '1.50', discount: '0.50', payment_method: 'pix' }
  const headers = { 'idempotency-key': `pagamento-${side.path}-${id}` }
  const { data } = (await panel.company.post(`${side.resource}/${id}/payments`, body, headers)).body
  return { id, payment: data.payments[0].id }
}

/** Party with an open account. */
async function debtorOf(panel: TestPanel, { resource, parties, party }: Side): Promise<number> {
  const id = await make(panel, parties, { name: `Mercado Nossa Senhora ${++made}` })
  await make(panel, resource, { description: `Nota ${made}`, amount: '15.00', due_date: '2020-01-31', [party]: id })
  return id
}

/** A sale by card whose acquirer pays in some days. */
async function acquirersOf({ company }: TestPanel): Promise<string> {
  const name = `Crédito Visa e Mastercard ${++made}`
  const fields = { name, kind: 'card', acquirer_rate: '3.55', settles_in_days: 14 }
  const { body } = await company.post('/sales/payment-types', fields)
  const items = [{ description: 'Cesta de café da manhã', quantity: '1', unit_price: '129.90' }]
  await company.post('/sales', { items, payments: [{ payment_type_id: body.data.id, amount: '129.90' }] })
  return '/contas-a-receber/operadoras'
}

const sideSamples: Samples = Object.fromEntries(
  SIDES.flatMap((side) => [
    [side.path, (panel: TestPanel) => accountsOf(panel, side)],
    [
      `${side.path}/em-aberto`,
      async (panel: TestPanel) => {
        await accountsOf(panel, side)
        return `${side.path}/em-aberto`
      },
    ],
    [
      `${side.people}/:id/liquidar`,
      async (panel: TestPanel) => `${side.people}/${await debtorOf(panel, side)}/liquidar`,
    ],
    [`${side.path}/novo`, async () => `${side.path}/novo`],
    [
      `${side.path}/recibos/:id`,
      async (panel: TestPanel) => `${side.path}/recibos/${(await paidOf(panel, side)).payment}`,
    ],
    [
      `${side.path}/:id/pagamentos/:payment_id/estornar`,
      async (panel: TestPanel) => {
        const { id, payment } = await paidOf(panel, side)
        return `${side.path}/${id}/pagamentos/${payment}/estornar`
      },
    ],
    ...(side.path === '/contas-a-receber'
      ? ['', '/editar', '/excluir', '/liquidar', '/cobrar']
      : ['', '/editar', '/excluir', '/liquidar']
    ).map((rest) => [
      `${side.path}/:id${rest}`,
      async (panel: TestPanel) => `${side.path}/${await accountOf(panel, side, '2099-12-31')}${rest}`,
    ]),
  ]),
)

const [RECEIVED, PAID] = SIDES

/** This month, with what was received and paid. */
async function monthOf(panel: TestPanel): Promise<string> {
  await paidOf(panel, RECEIVED)
  await paidOf(panel, PAID)
  await acquirersOf(panel)
  return `/fechamento-do-mes/${new Date().toISOString().slice(0, 7)}`
}

const monthSamples: Samples = Object.fromEntries(
  ['', '/recebimentos', '/pagamentos'].map((rest) => [
    `/fechamento-do-mes/:mes${rest}`,
    async (panel: TestPanel) => `${await monthOf(panel)}${rest}`,
  ]),
)

export const accountSamples: Samples = {
  ...sideSamples,
  ...monthSamples,
  '/fechamento-do-mes': async () => '/fechamento-do-mes',
  '/clientes/:id/caderneta': async (panel) => `/clientes/${await debtorOf(panel, RECEIVED)}/caderneta`,
  '/contas-a-receber/operadoras': acquirersOf,
}
