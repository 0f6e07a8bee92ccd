import { expect } from 'chai'
import { h } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { FirstStepsOf, Todo } from '#panel/pages/start-page.tsx'
import { textIn } from '../../support/panel.ts'

const NONE = { pending: { count: 0, amount: '0.00' }, overdue: { count: 0, amount: '0.00' } }
const NOTHING = {
  timezone: 'America/Sao_Paulo',
  refused: 0,
  refusedReturns: 0,
  refusedMovements: 0,
  cash: [],
  alarmed: 0,
  differing: 0,
  failing: [],
  unpayable: [],
  receivables: NONE,
  payables: NONE,
  stock: { out: 0, low: 0, items: [] },
}

describe('panel: to-do list of the start page', () => {
  it('is empty, or links each task to its page', () => {
    expect(renderToString(h(Todo, NOTHING))).to.equal('')
    const html = renderToString(
      h(Todo, {
        ...NOTHING,
        differing: 2,
        refused: 1,
        refusedReturns: 2,
        refusedMovements: 1,
        cash: [{ id: 4, closed_at: '2026-03-10T21:00:00.000Z', difference: '-12.50' }],
        alarmed: 1,
        failing: [{ webhook_id: 7, url: 'https://loja.example/gancho', outage_since: '2026-03-10T12:00:00.000Z' }],
        receivables: { ...NONE, overdue: { count: 1, amount: '5.00' } },
        payables: { ...NONE, overdue: { count: 2, amount: '7.00' } },
        stock: { ...NOTHING.stock, out: 4, low: 3 },
      }),
    )
    const tasks = [...html.matchAll(/<a href="([^"]+)">(.*?)<\/a>/g)].map(([, to, words = '']) => [
      to,
      textIn(words).trim(),
    ])
    expect(tasks).to.deep.equal([
      ['/painel/auditoria', '2 registros não conferem na auditoria'],
      ['/painel/caixas', '1 venda recusada para resolver'],
      ['/painel/caixas', '2 devoluções recusadas para resolver'],
      ['/painel/caixas', '1 movimento recusado para resolver'],
      ['/painel/caixas/sessoes/4', '1 caixa fechado em 10/03/2026 18:00 com diferença de −R$ 12,50'],
      ['/painel/loja?alarm=open', '1 pedido com alerta não lido'],
      ['/painel/integracoes/webhooks/7', '1 webhook com falhas desde 10/03/2026 09:00: https://loja.example/gancho'],
      ['/painel/contas-a-pagar?view=overdue', '2 contas vencidas a pagar · R$ 7,00'],
      ['/painel/contas-a-receber?view=overdue', '1 conta vencida a receber · R$ 5,00'],
      ['/painel/catalogo/reposicao', '3 produtos acabando'],
      ['/painel/catalogo?out_of_stock=on', '4 produtos sem estoque'],
    ])
  })

  it('guides a new company to its first sale, and disappears after it', () => {
    const steps = { has_data: false, has_payment_type: true, has_item: false, has_seller: false, has_sale: false }
    const html = renderToString(h(FirstStepsOf, { steps }))
    expect(textIn(html)).to.include('Primeiros passos 1 de 5').and.to.include('Definir as formas de pagamento (feito)')
    expect(
      [...html.matchAll(/href="([^"]+)"/g)].map(([, to]) => to).filter((to) => to?.startsWith('/painel/')),
    ).to.include.members(['/painel/configuracoes', '/painel/catalogo/novo', '/painel/caixas', '/painel/vendas'])
    expect(renderToString(h(FirstStepsOf, { steps: { ...steps, has_sale: true } }))).to.equal('')
  })
})
