import { expect } from 'chai'
import { textIn, usePanelUser } from '../support/panel.ts'

describe('panel: stock taking', () => {
  const { company, user } = usePanelUser('manager')

  it('names each count, lists unknown codes, and shows differences with their value before they apply', async () => {
    const item = { name: 'Café', price: '9.00', cost: '6.00', stock: '5', barcode: '7891234567895', unit: 'UN' }
    await company.post('/catalog/items', item)
    const { id } = (await company.post('/stock/inventories', { name: 'Novembro' })).body.data
    const path = `/painel/catalogo/inventarios/${id}`
    const scan = (code: string) => user.submit(path, { code, mode: 'add' }, `${path}/contar`)
    const unknown = await scan('999')
    expect(unknown.status).to.equal(422)
    expect(textIn(unknown.html)).to.include('Códigos fora do catálogo, não contados: 999')
    expect(unknown.html).not.to.match(/<input[^>]*(name="code"[^>]*value="999"|value="999"[^>]*name="code")/)
    for (const _ of [1, 2]) await scan('7891234567895')
    expect(textIn((await user.get(path)).html)).to.include('Última contagem: Café , total 2 UN.')
    const apply = textIn((await user.get(`${path}/aplicar`)).html)
    expect(apply).to.include('1 produto com diferença, −R$ 18,00').and.to.include('Café −3 UN −R$ 18,00')
  })
})
