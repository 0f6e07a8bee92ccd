import { expect } from 'chai'
import type { PageRoute, PanelRoute } from '#panel/panel-route.ts'
import { PANEL_ROUTES } from '#panel/routes.ts'
import { addressOf } from '../browser/samples/all.ts'
import { usePanel } from '../support/browser.ts'
import { copyRecords } from '../support/copied-rows.ts'
import { loadOf } from '../support/load.ts'
import { hiddenFields, type PanelUser, panelUser, textIn } from '../support/panel.ts'

const COPIES = 25_000

/** A page has a hundred records at most, with their details. */
const MOST_ROWS = 2_000
const MOST_BYTES = 2_000_000
/** A slice is about 5 ms, rendering a page several times that. Loading all copies takes a second. */
const LONGEST_TURN_MS = 400

const isPage = (route: PanelRoute): route is PageRoute => 'show' in route

describe('company with 25,000 records that share every shareable key', function () {
  this.timeout(0)
  const panel = usePanel()
  let user: PanelUser
  const addresses = new Map<string, string>()

  before(async () => {
    for (const route of PANEL_ROUTES.filter(isPage)) addresses.set(route.path, await addressOf(panel, route.path))
    user = await panelUser(panel.api, panel.company, 'owner')
    const items = [
      { name: 'Igual', price: '1.00', sku: 'IGUAL' },
      { name: 'Quase', price: '1.00', sku: 'QUASE', external_id: 'quase' },
      { name: 'Ímpar', price: '1.00', sku: 'QUASE' },
    ]
    for (const item of items) expect((await panel.company.post('/catalog/items', item)).status).to.equal(201)
    const person = { name: 'Iguais', document: '52998224725', phone: '11987654321' }
    for (const path of ['/customers', '/suppliers'])
      expect((await panel.company.post(path, person)).status).to.equal(201)
    const { pool } = panel.api.core
    await copyRecords(pool, panel.company.id, COPIES)
    await pool.query(
      `update read.catalog_items set sku = case when id % 2 = 0 then 'IGUAL' else 'QUASE' end, external_id = case when id % 2 = 0 then null else 'x' || id end
       where company_id = $1 and sku is null`,
      [panel.company.id],
    )
    for (const table of ['customers', 'suppliers'])
      await pool.query(`update read.${table} set document = '52998224725' where company_id = $1`, [panel.company.id])
  })

  for (const route of PANEL_ROUTES.filter(isPage))
    it(`loads no more than a page shows for GET ${route.path} [PANEL-322]`, async () => {
      const path = addresses.get(route.path) ?? ''
      await user.get(path)
      const shown = await loadOf(() => user.get(path))
      expect(shown.result.status, path).to.be.below(500)
      expect(shown.load.rows, `${path}: rows`).to.be.below(MOST_ROWS)
      expect(shown.load.bytes, `${path}: bytes`).to.be.below(MOST_BYTES)
      expect(shown.load.longestTurn_ms, `${path}: turn`).to.be.below(LONGEST_TURN_MS)
    })

  /** Uploads a file and loads its preview. */
  async function check(path: string, content: string) {
    const { _csrf = '', _key = '' } = hiddenFields((await user.get(path)).html, path)
    const body = new FormData()
    body.set('_csrf', _csrf)
    body.set('_key', _key)
    body.set('file', new Blob([content]), 'planilha.csv')
    const init = { method: 'POST', headers: { cookie: user.cookie() }, body, redirect: 'manual' } as const
    expect((await fetch(`${panel.api.url}${path}`, init)).status).to.equal(303)
    const { result, load } = await loadOf(() => user.get(`${path}/conferir`))
    expect(load.rows, 'rows').to.be.below(100)
    expect(load.longestTurn_ms, 'turn').to.be.below(LONGEST_TURN_MS)
    return textIn(result.html)
  }

  it('is not loaded for an import line with a SKU that all items share [PANEL-322]', async () => {
    const text = await check('/painel/catalogo/importar', 'Nome;SKU;Preço\nCafé;IGUAL;2,00')
    expect(text).to.include('há mais de um cadastro com este código')
  })

  it('finds the one record that an import line can mean [PANEL-181, PANEL-322]', async () => {
    const text = await check('/painel/catalogo/importar', 'Código;Nome;SKU;Preço\noutro;Café;QUASE;2,00')
    expect(text).to.match(/Novos 0 .*Já cadastrados 1 .*Com erro 0/)
  })

  for (const path of ['/painel/clientes/importar', '/painel/fornecedores/importar'])
    it(`is not loaded for a document that all records share, by ${path} [PANEL-322]`, async () => {
      expect(await check(path, 'Nome;CPF\nNovo;529.982.247-25')).to.include('há mais de um cadastro com este código')
    })
})
