import { expect } from 'chai'
import { changePrices } from '#commands/price-commands.ts'
import { ReceiveGoodsInput, receiveGoods } from '#commands/receive-goods.ts'
import { createNfeXml } from '#demo/companies/demo-seed.ts'
import { storeImport } from '#privacy/stored-imports.ts'
import type { TestPanel } from '../../support/browser.ts'
import type { Samples } from './sample.ts'

/** Cost of every sample item; no other amount has these digits. */
export const SAMPLE_COST = '871.93'

const HOME = '/catalogo'

let made = 0

async function make({ company }: TestPanel, path: string, fields: object): Promise<number> {
  const reply = await company.post(path, fields)
  expect(reply.status, reply.text).to.equal(201)
  return reply.body.data.id
}

const categoryOf = (panel: TestPanel) =>
  make(panel, '/catalog/categories', { name: `Mercearia e mantimentos ${++made}`, external_id: `categoria-${made}` })

async function itemOf(panel: TestPanel, fields: object = {}): Promise<number> {
  const name = `Café torrado e moído em embalagem a vácuo 500 g ${++made}`
  const codes = { external_id: `item-${made}`, barcode: `78900000${made}`, sku: `CAF-${made}`, unit: 'UN' }
  const category_id = await categoryOf(panel)
  return make(panel, '/catalog/items', { name, price: '1234.50', cost: SAMPLE_COST, category_id, ...codes, ...fields })
}

/** An open inventory with a count. */
async function inventoryOf(panel: TestPanel): Promise<number> {
  const catalog_item_id = await itemOf(panel, { stock: '40' })
  const id = await make(panel, '/stock/inventories', { name: 'Mercearia, novembro' })
  await panel.company.post(`/stock/inventories/${id}/counts`, { items: [{ catalog_item_id, quantity: '38' }] })
  return id
}

/** Goods of a new supplier, to be paid in two parts. */
async function receiptOf(panel: TestPanel): Promise<number> {
  const catalog_item_id = await itemOf(panel, { stock: '40' })
  const input = ReceiveGoodsInput.parse({
    supplier: { document: '11444777000161', name: 'Atacado São Jorge e Filhos Ltda' },
    ...{ reference: 'NF-e 1234, série 1', new_items: [] },
    lines: [{ catalog_item_id, code: '2040', unit: 'CX', quantity: '10', factor: '12', cost: SAMPLE_COST }],
    bills: ['2026-02-10', '2026-03-10'].map((due_date) => ({ due_date, amount: '1234.50' })),
  })
  return (await panel.company.run(receiveGoods, input)).id
}

/** Items with stock, without stock, and without a stock count. */
async function catalogPath(panel: TestPanel): Promise<string> {
  for (const stock of ['1234.5', '0', null]) await itemOf(panel, { stock })
  return HOME
}

export const itemPath = async (panel: TestPanel): Promise<string> => `${HOME}/${await itemOf(panel, { stock: '40' })}`

const categoryPath = async (panel: TestPanel): Promise<string> => `${HOME}/categorias/${await categoryOf(panel)}`

export const catalogSamples: Samples = {
  '/busca': async (panel) => `/busca?q=${(await itemOf(panel)) && 'caf'}`,
  [HOME]: catalogPath,
  [`${HOME}/novo`]: async () => `${HOME}/novo`,
  [`${HOME}/:id`]: itemPath,
  [`${HOME}/:id/editar`]: async (panel) => `${await itemPath(panel)}/editar`,
  [`${HOME}/:id/excluir`]: async (panel) => `${await itemPath(panel)}/excluir`,
  [`${HOME}/:id/reativar`]: async (panel) => {
    const id = await itemOf(panel)
    await panel.company.call('DELETE', `/catalog/items/${id}`)
    return `${HOME}/${id}/reativar`
  },
  [`${HOME}/movimentacao`]: async (panel) => {
    const catalog_item_id = await itemOf(panel, { stock: '40' })
    await make(panel, '/stock/movements', { catalog_item_id, kind: 'purchase', quantity: '2', unit_cost: SAMPLE_COST })
    return `${HOME}/movimentacao`
  },
  [`${HOME}/reposicao`]: async (panel) => {
    await itemOf(panel, { stock: '2', min_stock: '6' })
    return `${HOME}/reposicao`
  },
  [`${HOME}/lista-de-compras`]: async (panel) => {
    await itemOf(panel, { stock: '1234.5', min_stock: '2469' })
    return `${HOME}/lista-de-compras`
  },
  [`${HOME}/etiquetas`]: async (panel) => `${HOME}/etiquetas?item=${await itemOf(panel)}`,
  [`${HOME}/precos`]: async (panel) => {
    await itemOf(panel)
    return `${HOME}/precos?change=custo+%C3%97+1%2C4&ending=90`
  },
  [`${HOME}/precos/:id`]: async (panel) => {
    const items = [{ catalog_item_id: await itemOf(panel), before: '1234.50', after: '1295.90' }]
    const rule = { kind: 'percent', amount: 500, ending: 90 } as const
    const { id } = await panel.company.run(changePrices, { rule, starts_at: null, items })
    return `${HOME}/precos/${id}`
  },
  [`${HOME}/inventarios`]: async (panel) => {
    await inventoryOf(panel)
    return `${HOME}/inventarios`
  },
  [`${HOME}/inventarios/novo`]: async () => `${HOME}/inventarios/novo`,
  [`${HOME}/inventarios/:id`]: async (panel) => `${HOME}/inventarios/${await inventoryOf(panel)}`,
  [`${HOME}/inventarios/:id/aplicar`]: async (panel) => `${HOME}/inventarios/${await inventoryOf(panel)}/aplicar`,
  [`${HOME}/inventarios/:id/descartar`]: async (panel) => `${HOME}/inventarios/${await inventoryOf(panel)}/descartar`,
  [`${HOME}/entradas`]: async (panel) => {
    await receiptOf(panel)
    return `${HOME}/entradas`
  },
  [`${HOME}/entradas/novo`]: async () => `${HOME}/entradas/novo`,
  [`${HOME}/entradas/:id`]: async (panel) => `${HOME}/entradas/${await receiptOf(panel)}`,
  [`${HOME}/entradas/:id/desfazer`]: async (panel) => `${HOME}/entradas/${await receiptOf(panel)}/desfazer`,
  [`${HOME}/entradas/nfe`]: async () => `${HOME}/entradas/nfe`,
  [`${HOME}/entradas/nfe/conferir`]: async ({ api, company, owner }) => {
    const lines = [{ cProd: '7', xProd: 'BISCOITO AGUA E SAL 400 G', qCom: '24', vProd: '100.00' }]
    const { xml } = createNfeXml({ buyer: '11222333000181', lines, bills: [['2026-02-10', '100.00']], number: ++made })
    const owned = { companyId: company.id, userId: owner.id }
    await storeImport({ pool: api.core.pool, vault: api.core.vault }, owned, 'nfe', Buffer.from(xml))
    return `${HOME}/entradas/nfe/conferir`
  },
  [`${HOME}/categorias`]: async (panel) => {
    await categoryOf(panel)
    return `${HOME}/categorias`
  },
  [`${HOME}/categorias/novo`]: async () => `${HOME}/categorias/novo`,
  [`${HOME}/categorias/:id`]: categoryPath,
  [`${HOME}/categorias/:id/editar`]: async (panel) => `${await categoryPath(panel)}/editar`,
  [`${HOME}/categorias/:id/excluir`]: async (panel) => `${await categoryPath(panel)}/excluir`,
}
