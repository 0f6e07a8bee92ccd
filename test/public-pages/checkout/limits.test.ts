import { expect } from 'chai'
import { createStore } from '#commands/store-commands.ts'
import { type Json, PUBLIC_URL } from '../../support/api.ts'
import { createMemoryProvider } from '../../support/memory-provider.ts'
import { browser } from '../../support/panel.ts'
import { useCompany } from '../../support/use-api.ts'

describe('checkout page: limits', () => {
  const provider = createMemoryProvider()
  const { api, company } = useCompany({ provider, trustProxy: true, checkoutsPerMinute: 100 })

  before(() =>
    company.run(createStore, { alias: 'loja', commission_percentage: '5', sandbox: true, access_token: 'TEST-token' }),
  )

  async function place(): Promise<string> {
    const items = [{ description: 'Cesta', quantity: '1', unit_price: '71.52' }]
    const customer = { name: 'Ana', email: 'ana@example.com' }
    const { data } = (await company.post('/orders', { store_alias: 'loja', customer, items })).body as { data: Json }
    return data.payment_url.slice(PUBLIC_URL.length)
  }

  const get = (path: string, address: string) =>
    fetch(api.url + path, { headers: { 'x-forwarded-for': address, 'x-forwarded-proto': 'https' } })

  it('count requests per address over all paths, separately for each address [ORDER-36]', async () => {
    const path = await place()
    const guesses = Array.from({ length: 100 }, (_, n) => get(`/pagar/loja/${n + 1}-${'A'.repeat(44)}`, '198.51.100.1'))
    expect(new Set((await Promise.all(guesses)).map(({ status }) => status))).to.deep.equal(new Set([404]))
    const refused = await get(path, '198.51.100.1')
    expect(refused.status).to.equal(429)
    expect(Number(refused.headers.get('retry-after'))).to.be.within(1, 60)
    expect(await refused.text()).to.include('Muitas tentativas')
    expect((await get(path, '198.51.100.2')).status).to.equal(200)
  })

  it('count the forms of an order over all addresses, and call the provider once [PAY-42]', async () => {
    const path = await place()
    const { html } = await browser(api.url).get(path)
    const codigo = /name="codigo" value="([^"]+)"/.exec(html)?.[1] ?? ''
    const before = provider.calls.length
    const statuses = []
    for (let n = 0; n < 31; n++) {
      const headers = { 'x-forwarded-for': `203.0.113.${n}`, 'x-forwarded-proto': 'https' }
      statuses.push((await browser(api.url).post(`${path}/pix`, { codigo }, headers)).status)
    }
    expect(statuses.slice(0, 30)).to.deep.equal(Array(30).fill(303))
    expect(statuses[30]).to.equal(429)
    expect(provider.calls.length - before).to.equal(1)
  })

  it('refuse plain HTTP [ORDER-37]', async () => {
    const path = await place()
    const reply = await fetch(api.url + path, {
      headers: { 'x-forwarded-for': '192.0.2.1', 'x-forwarded-proto': 'http' },
    })
    expect(reply.status).to.equal(403)
  })
})
