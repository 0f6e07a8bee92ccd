import { expect } from 'chai'
import { type Counter, openCounter } from '../support/offline-sales.ts'
import { browser, type PanelUser, panelUser, textIn } from '../support/panel.ts'
import { useCompany } from '../support/use-api.ts'

let people = 0

describe('panel: links of records', () => {
  const { api, company } = useCompany()
  let owner: PanelUser
  let counter: Counter

  before(async () => {
    owner = await panelUser(api, company)
    counter = await openCounter(company)
  })

  /** The service's public address is not the test's. */
  const open = (url: string, agent = 'Mozilla/5.0') =>
    fetch(`${api.url}${new URL(url).pathname}`, { headers: { 'User-Agent': agent } })
  const linkIn = (html: string): string => /href="([^"]*\/l\/[\w-]+)"/.exec(html)?.[1] ?? ''

  async function shared(by = owner) {
    const { body } = await company.post('/customers', { name: `Maria das Dores ${++people}`, phone: '11987654321' })
    const sale = await counter.sell({ customer_id: body.data.id })
    const path = `/painel/vendas/${sale.id}/recibo`
    await by.submit(path, {}, `${path}/link`)
    const { html } = await by.get(path)
    return { sale, path, html, url: linkIn(html) }
  }

  it('open a receipt without a login, in at most 120 characters, and name no person [LINK-1282]', async () => {
    const { url, html } = await shared()
    expect(url.length).to.be.within(44, 120)
    const answer = await open(url)
    const text = textIn(await answer.text())
    expect(answer.status).to.equal(200)
    expect(text)
      .to.contain('Total')
      .and.not.to.match(/Maria|Dores/)
    expect(answer.headers.get('referrer-policy')).to.equal('no-referrer')
    expect(html).to.contain(`https://wa.me/5511987654321?text=Recibo`)
  })

  it('are stored as a hash only [LINK-1280]', async () => {
    const { url } = await shared()
    const token = url.split('/l/')[1] as string
    const { rows } = await api.core.pool.query(
      `select 1 from ops.shared_links l where l::text like $1
       union all select 1 from ledger.events e where e.stream = $2 and e::text like $1`,
      [`%${token}%`, `company-${company.id}`],
    )
    expect(rows).to.deep.equal([])
  })

  it('tell the shop when they were opened, but not by a preview in a chat [LINK-1282]', async () => {
    const { url, path } = await shared()
    await open(url, 'WhatsApp/2.23')
    expect(textIn((await owner.get(path)).html)).to.contain('Ainda não foi aberto.')
    await open(url)
    await open(url)
    expect(textIn((await owner.get(path)).html)).to.match(/Aberto 2 vezes; a última em \d/)
  })

  it('open nothing once revoked, replaced or expired [LINK-1281]', async () => {
    const { sale, path, url } = await shared()
    await owner.submit(path, {}, `${path}/link`)
    const second = linkIn((await owner.get(path)).html)
    expect([(await open(url)).status, (await open(second)).status]).to.deep.equal([404, 200])
    const ends = async (at: string) =>
      api.core.pool.query(
        `update ops.shared_links set expires_at = clock_timestamp() + $3::interval where company_id = $1 and record = $2`,
        [company.id, `sale/${sale.id}`, at],
      )
    await ends('-1 second')
    expect((await open(second)).status).to.equal(404)
    await ends('1 day')
    expect((await open(second)).status).to.equal(200)
    await owner.submit(path, {}, `${path}/link/revogar`)
    expect((await open(second)).status).to.equal(404)
    expect(textIn((await owner.get(path)).html)).to.contain('Criar link')
  })

  it('are 404 for any other text, with a page in words', async () => {
    for (const token of ['x', 'A'.repeat(43), '..%2F'.repeat(9)]) {
      const answer = await fetch(`${api.url}/l/${token}`, { headers: { Accept: 'text/html' } })
      expect([answer.status, await answer.text()].join(' ')).to.match(/^404 .*Página não encontrada/s)
    }
    expect((await browser(api.url).post('/l/x', {})).status).to.equal(405)
  })

  it('are made and revoked by who may sell, and not by read-only roles', async () => {
    const { path } = await shared()
    const auditor = await panelUser(api, company, 'auditor')
    expect((await auditor.get(path)).html).not.to.contain('Link do recibo')
  })
})
