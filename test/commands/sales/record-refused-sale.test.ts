import { expect } from 'chai'
import { fingerprintOf } from '#commands/offline-sale-input.ts'
import { type RefusedSaleRecording, recordOfflineSale, recordRefusedSale } from '#commands/record-offline-sale.ts'
import { FIRST_NEW_ID, given } from '../../support/given.ts'
import { ACCOUNT, input, paidBy, recorded, shop, warning } from './record-offline-sale/shop.ts'

const wrong = input({ total: 11 })
const recording = (fields: Partial<RefusedSaleRecording> = {}): RefusedSaleRecording => ({
  sale: wrong,
  fingerprint: fingerprintOf(wrong),
  how: 'recorded_as_is',
  reason: 'O cliente pagou assim.',
  ...fields,
})
const remark = warning('recorded_as_is', { found: 'O cliente pagou assim.' })

describe('record a refused sale unchanged', () => {
  it('records the uploaded amounts with the reason, and moves stock [UP-17]', async () => {
    const scenario = await given(...shop)
    const decided = await scenario.when(recordRefusedSale, recording(), 'pdv')
    const { data } = recorded(decided)
    expect(data).to.deep.include({ total: '11.00', amount_received: '10.00', change: '0.00', warnings: [remark] })
    expect(await scenario.show(`sale/${FIRST_NEW_ID}`)).to.include({
      subtotal: '10.00',
      discount: '0.00',
      total: '11.00',
    })
    expect(await scenario.show('catalog_item/10')).to.include({ stock: '4.000' })
  })

  it('names unknown products and payment types by number [UP-17]', async () => {
    const scenario = await given(...shop)
    const items = [{ product_id: 99, quantity: 1, price: 10, total: 10 }]
    const sale = input({ items, ...paidBy(77) })
    const { data } = recorded(await scenario.when(recordRefusedSale, recording({ sale }), 'pdv'))
    expect(data.items[0]).to.deep.include({ catalog_item_id: null, description: 'Produto 99', moves_stock: false })
    expect(data.payments[0]).to.deep.include({ payment_type_id: 77, name: 'Forma de pagamento 77', net: '10.00' })
    expect(data.warnings).to.deep.equal([
      remark,
      warning('product_unknown', { product_id: 99 }),
      warning('payment_type_unknown', { found: '77' }),
    ])
  })

  it('creates its receivables [UP-11, UP-17]', async () => {
    const scenario = await given(...shop)
    recorded(
      await scenario.when(recordRefusedSale, recording({ sale: input({ total: 11, ...paidBy(ACCOUNT) }) }), 'pdv'),
    )
    expect(await scenario.show(`receivable/${FIRST_NEW_ID}`)).to.include({ amount: '10.00', sale_id: FIRST_NEW_ID })
  })

  it('refuses sums above the limit', async () => {
    const scenario = await given(...shop)
    const item = { product_id: 10, quantity: 1, price: 9_999_999_999, total: 9_999_999_999 }
    const decided = await scenario.when(recordRefusedSale, recording({ sale: input({ items: [item, item] }) }), 'pdv')
    expect(decided.decision).to.include({ refused: 'validation_failed' })
  })
})

describe('record a refused sale corrected', () => {
  const corrected = (fields: Partial<RefusedSaleRecording> = {}) => recording({ how: 'recorded_corrected', ...fields })

  it('checks it like an upload [UP-17]', async () => {
    const scenario = await given(...shop)
    const decided = await scenario.when(recordRefusedSale, corrected(), 'pdv')
    expect(decided.decision).to.include({ refused: 'validation_failed' })
    const { warnings } = recorded(await scenario.when(recordRefusedSale, corrected({ sale: input() }), 'pdv'))
    expect(warnings).to.deep.equal([{ ...remark, code: 'recorded_corrected' }])
  })

  it('matches repeated uploads by fingerprint, and any upload with the same time [UP-17]', async () => {
    const scenario = await given(...shop)
    await scenario.when(recordRefusedSale, corrected({ sale: input() }), 'pdv')
    for (const sent of [wrong, input({ total: 12 })]) {
      const again = await scenario.when(recordOfflineSale, sent, 'pdv')
      again.accepts('unchanged')
      expect(again.decision).to.include({ subject: `sale/${FIRST_NEW_ID}` })
    }
    const other = await scenario.when(recordOfflineSale, input({ created_at: '2026-03-10T18:00:00.000Z' }), 'pdv')
    other.refuses('duplicate_resource', { field: 'offline_id', conflicting_id: FIRST_NEW_ID })
  })
})

describe('record a refused sale', () => {
  it('records it once [UP-17]', async () => {
    const scenario = await given(...shop)
    await scenario.when(recordRefusedSale, recording(), 'pdv')
    const again = await scenario.when(recordRefusedSale, recording(), 'pdv')
    again.accepts('unchanged')
  })

  it('refuses the identifier of another sale', async () => {
    const scenario = await given(...shop)
    await scenario.when(recordOfflineSale, input(), 'pdv')
    const decided = await scenario.when(recordRefusedSale, recording(), 'pdv')
    decided.refuses('duplicate_resource', { field: 'offline_id', conflicting_id: FIRST_NEW_ID })
  })
})
