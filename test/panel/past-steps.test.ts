import { expect } from 'chai'
import { figuresIn } from '../figures/parse.ts'
import { openCounter, upload } from '../support/offline-sales.ts'
import { type PanelReply, type PanelUser, panelUser, problemsIn, textIn, usePanelUser } from '../support/panel.ts'
import { openTill } from '../support/till.ts'

const DRAWERS = '/painel/caixas/sessoes'

describe('panel: time machine', () => {
  const { api, company, user } = usePanelUser('owner')

  const done = (reply: PanelReply): string => {
    expect(reply.status, problemsIn(reply.html).join()).to.equal(303)
    return String(reply.to).replace(/\?.*/, '')
  }
  const plain = (html: string): string => textIn(html).replaceAll('\u00A0', ' ')
  const leads = (html: string, rel: 'prev' | 'next') => new RegExp(`<a href="([^"]+)" rel="${rel}">`).exec(html)?.[1]
  /** What pages show from a moment on, following their links. */
  const walk = async (first: string, rel: 'prev' | 'next', who: PanelUser = user) => {
    const pages: string[] = []
    for (let path: string | undefined = first; path !== undefined && pages.length < 99; ) {
      const { status, html } = await who.get(path.replaceAll('&amp;', '&'))
      expect(status, path).to.equal(200)
      pages.push(html)
      path = leads(html, rel)
    }
    return pages
  }
  const momentIn = (html: string): string =>
    /<strong>[\d/: ]+ · (.*?)<\/strong>/.exec(html.replaceAll('\u00A0', ' '))?.[1] ?? ''
  /** What happened, and what the drawer should have then. */
  const toldIn = (html: string): string => {
    const expected = Object.entries(figuresIn(html)).find(([name]) => /^gaveta\/\d+\.esperado$/.test(name))?.[1]
    return `${momentIn(html)}: ${expected}`
  }

  it('shows a drawer before and after each event, and says what happened then [PANEL-1374]', async () => {
    const path = done(await user.submit(`${DRAWERS}/abrir`, { amount: '100' }))
    done(await user.submit(`${path}/suprimento`, { amount: '20' }))
    done(await user.submit(`${path}/sangria`, { amount: '50' }))
    done(await user.submit(`${path}/fechar`, { other: '57,50' }))
    done(await user.submit(`${path}/explicar`, { reason: 'change', note: 'Troco a mais' }))
    const back = await walk(path, 'prev')
    expect(back.map(toldIn).reverse().join('\n')).to.equal(
      [
        'Gaveta aberta com R$ 100,00: 100',
        'Suprimento: R$ 20,00: 120',
        'Sangria: R$ 50,00: 70',
        'Gaveta fechada, com R$ 57,50 contados: 70',
        'Diferença de −R$ 12,50 explicada: Troco errado ou faltou troco: Troco a mais: 70',
      ].join('\n'),
    )
    const before = back.at(-2) ?? ''
    expect(plain(before)).to.include('Depois »').and.include('Sangria: R$ 50,00').and.include('Máquina do tempo')
    for (const form of ['sangria', 'fechar', 'explicar']) expect(before).not.to.include(`${path}/${form}`)
    expect(await walk(String(leads(back[1] ?? '', 'prev')), 'next')).to.have.length(3)
  })

  it('counts the sales of a drawer among its events [PANEL-1374]', async () => {
    const till = await openTill(api.url, company)
    const counter = await openCounter(company)
    const at = new Date().toISOString()
    const opened = { kind: 'opened', amount: 70, offline_id: 'm1', session_id: 'g', at }
    await till.post('/sync/cash', { movements: [opened] })
    await upload(till, [counter.sale('a', { cash_session_id: 'g', created_at: at })])
    const [{ id }] = (await company.get('/cash-sessions')).body.data
    const back = await walk(`${DRAWERS}/${id}`, 'prev')
    expect(back.map(toldIn).join('\n')).to.equal(
      'Venda de R$ 10,00 recebida do caixa: 80\nGaveta aberta com R$ 70,00: 70',
    )
  })

  it('shows what the user may see now, and no drawer that is counted blindly [PANEL-1374]', async () => {
    const clerk = await panelUser(api, company, 'clerk')
    const path = done(await clerk.submit(`${DRAWERS}/abrir`, { amount: '100' }))
    done(await clerk.submit(`${path}/sangria`, { amount: '50' }))
    expect((await clerk.get(path)).html).not.to.include('data-steps')
    const { id } = (await company.post('/customers', { name: 'Maria Ávila' })).body.data
    await company.call('PATCH', `/customers/${id}`, { name: 'Maria Lima' })
    await company.call('PATCH', `/customers/${id}`, { notes: 'paga em dia' })
    const [now, renamed, created] = await walk(`/painel/clientes/${id}`, 'prev')
    expect(plain(now ?? '')).to.include('Maria Lima')
    expect(plain(renamed ?? ''))
      .to.include('Maria Lima')
      .and.not.include('paga em dia')
    expect(plain(created ?? ''))
      .to.include('Maria Ávila')
      .and.not.include('Maria Lima')
    const auditor = await panelUser(api, company, 'auditor')
    for (const html of await walk(`/painel/clientes/${id}`, 'prev', auditor)) {
      expect(html).not.to.match(/Maria|Ávila|Lima/)
      expect(html).to.include('data-steps')
    }
  })
})
