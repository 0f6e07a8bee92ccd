import { expect } from 'chai'
import { MASKED } from '#domain/person-values.ts'
import { formatDetails, maskBody, maskPath, maskQuery } from '#http/request-log.ts'

const masked = (body: unknown) => JSON.parse(maskBody(body))

describe('masking in the request log [KIT-54]', () => {
  it('keeps the structure of a body, and numbers and codes in the fields of the contract', () => {
    const sale = {
      external_id: 'PDV-1/77',
      items: [{ catalog_item_id: 4, quantity: '2.000', unit_price: '9.90', description: 'Café da Ana' }],
      payments: [{ payment_type_id: 1, amount: '19.00' }],
      sold_at: '2026-11-21T08:17:15-03:00',
      queue: true,
      cost: null,
    }
    expect(masked(sale)).to.deep.equal({
      ...sale,
      items: [{ ...sale.items[0], description: MASKED }],
    })
  })

  it('removes personal data, by field name and by format in other fields', () => {
    const address = { street: 'Rua A', number: '7', zip: '01001000', city: 'Santos', state: 'SP' }
    const whole = {
      name: 'Ana',
      trade_name: 'Ana',
      document: '52998224725',
      phone: '11987654321',
      email: 'a@b.example',
      notes: 'x',
      address,
    }
    expect(new Set(Object.values({ ...masked(whole), ...masked(whole).address, address: MASKED }))).to.deep.equal(
      new Set([MASKED]),
    )
    expect(masked({ cpf: 52998224725, nome: 'Ana' })).to.deep.equal({ cpf: MASKED, nome: MASKED })
    expect(
      masked({ external_id: '529.982.247-25', sku: 'ana@b.example', customer_id: 'Ana', status: 'Ana Prado' }),
    ).to.deep.equal({ external_id: MASKED, sku: MASKED, customer_id: MASKED, status: MASKED })
    expect(masked({ id: 52998224725 })).to.deep.equal({ id: MASKED })
    expect(masked(['Ana', 7])).to.deep.equal([MASKED, MASKED])
    expect(masked('Ana')).to.equal(MASKED)
    expect(masked({ 'Ana Prado': 1, 'ana@b.example': 2 })).to.deep.equal({ [MASKED]: MASKED })
  })

  it('removes secrets: tokens, URLs, and keys in wrong fields', () => {
    const key = `tb_live_${'x'.repeat(32)}`
    const body = { token: 'abc', url: 'https://a.example/?k=1', external_id: key, method: 'whsec_abc', [key]: 1 }
    expect(JSON.stringify(masked(body))).not.to.match(/abc|tb_live|whsec|example/)
    expect(maskQuery(`api_key=${key}&${key}=1&cursor=eyJhIjoiQW5hIn0&limit=5`)).to.equal(
      `api_key=${MASKED}&${MASKED}=${MASKED}&cursor=${MASKED}&limit=5`,
    )
    expect(maskPath(`/sales/${key}`)).to.equal(`/sales/${MASKED}`)
  })

  it('keeps paths with ids, without personal data', () => {
    for (const path of [
      '/',
      '/sales',
      '/sales/77/cancel',
      '/customers/by-external/CLI-7',
      '/webhooks/1/deliveries/01a1ff3b-072b-72de-a0db-ab14c82137af',
    ])
      expect(maskPath(path)).to.equal(path)
    expect(maskPath('/customers/by-external/ana%40b.example')).to.equal(`/customers/by-external/${MASKED}`)
    expect(maskPath('/customers/52998224725')).to.equal(`/customers/${MASKED}`)
    expect(maskPath('/x/%E0%A4%A')).to.equal(`/x/${MASKED}`)
  })

  it('keeps numbers and codes of a query, and masks search terms', () => {
    expect(maskQuery('')).to.equal(null)
    expect(maskQuery('q=ana&name=Ana&document=52998224725&status=pending&due_from=2026-11-01')).to.equal(
      `q=${MASKED}&name=${MASKED}&document=${MASKED}&status=pending&due_from=2026-11-01`,
    )
  })

  it('limits the size of an entry for large, wide and deep bodies', () => {
    const wide = Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`field_${n}`, n]))
    let deep: unknown = 1
    for (let n = 0; n < 5_000; n++) deep = { items: [deep] }
    for (const body of [wide, deep, Array(50_000).fill({ amount: '1.00' }), { external_id: 'x'.repeat(60) }]) {
      const text = maskBody(body)
      expect(Buffer.byteLength(text)).to.be.at.most(4_096)
      expect(text.length).to.be.above(20)
    }
    expect(masked(wide)['…']).to.equal('…')
  })

  it('keeps the reason of a refusal, with the names of unknown fields if they look like names', () => {
    const details = { fields: { price: ['deve ser um valor'] }, unknown_fields: ['preco', 'Ana Prado <a@b.example>'] }
    expect(JSON.parse(formatDetails(details))).to.deep.equal({ ...details, unknown_fields: ['preco', MASKED] })
  })
})
