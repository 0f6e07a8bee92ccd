import { expect } from 'chai'
import { recordOfflineSale } from '#commands/record-offline-sale.ts'
import { registerSale, SaleInput } from '#commands/register-sale.ts'
import { event } from '#events/catalogue.ts'
import { type Accepted, isRefusal } from '#ledger/command.ts'
import { offlineSaleCancelled, offlineSaleCompleted, saleCompleted } from '../../support/facts.ts'
import { type Decided, given } from '../../support/given.ts'
import { CARD, input, recorded, shop, warning } from './record-offline-sale/shop.ts'

const PIX = 'E00038166201907261559y6j6mt9l0pi'
const card = {
  brand: null,
  nsu: '004711',
  authorization: 'R07242',
  installments: null,
  acquirer_cnpj: '01027058000191',
  integrated: null,
}
const paid = { payment_type_id: CARD, name: 'Cartão', amount: '10.00', surcharge: '0.00', net: '10.00' }
const byPix = (id: number) => saleCompleted({ id, payments: [{ ...paid, end_to_end_id: PIX }] })
const byCard = (id: number) => saleCompleted({ id, payments: [{ ...paid, card }] })
const cancelled = (id: number) => event('SaleCancelled', { id, reason: null, restock: [] })

const sale = (details: object) =>
  SaleInput.parse({
    items: [{ description: 'Bolo', quantity: '1', unit_price: '10.00' }],
    payments: [{ payment_type_id: CARD, amount: '10.00', ...details }],
  })
const uploaded = (details: object, fields: object = {}) =>
  input({ payments: [{ payment_type_id: CARD, amount: 10, status: 'completed', ...details }], ...fields })

/** Warnings in the event, and beside the record in the answer. */
function warned({ decision }: Decided) {
  if (isRefusal(decision)) throw new Error(`refused: ${JSON.stringify(decision)}`)
  const { warnings = [] } = (decision.events[0]?.data ?? {}) as { warnings?: object[] }
  const { warnings: remarks = [] } = (decision.remarks ?? {}) as { warnings?: object[] }
  return { own: warnings, remarks }
}

const USED = { code: 'payment_already_used', sale_id: 8 }

describe('a payment of another sale', () => {
  const cases: [string, object, number | null][] = [
    ['the same Pix', { end_to_end_id: PIX }, 8],
    ['the same Pix in other letters', { end_to_end_id: PIX.toUpperCase() }, 8],
    ['another Pix', { end_to_end_id: `${PIX.slice(0, -1)}x` }, null],
    ['the same card transaction', { card: { ...card, brand: 'visa', installments: 3 } }, 9],
    ['its NSU without zeros', { card: { ...card, nsu: '4711' } }, 9],
    ['the NSU of another authorization', { card: { ...card, authorization: 'R07243' } }, null],
    ['the NSU of another acquirer', { card: { ...card, acquirer_cnpj: '10440482000154' } }, null],
    ['an NSU without authorization', { card: { ...card, authorization: null } }, null],
    ['no details', {}, null],
  ]
  for (const [title, details, sale_id] of cases) {
    it(`is ${sale_id === null ? 'not ' : ''}warned of, in API and upload: ${title} [SALE-785]`, async () => {
      const scenario = await given(...shop, byPix(8), byCard(9))
      const known = sale_id === null ? [] : [{ code: 'payment_already_used', sale_id }]
      expect(warned(await scenario.when(registerSale, sale(details))).own).to.deep.equal(known)
      const till = await given(...shop, byPix(8), byCard(9))
      const { warnings } = recorded(await till.when(recordOfflineSale, uploaded(details)))
      const named = warnings.flatMap((each) => ('sale_id' in each ? [each.sale_id] : []))
      expect(named).to.deep.equal(sale_id === null ? [] : [sale_id])
    })
  }

  it('is named by field in the answer, and refused in a strict request [SALE-785, SALE-786]', async () => {
    const scenario = await given(...shop, byPix(8), byCard(9))
    const both = SaleInput.parse({
      items: [{ description: 'Bolo', quantity: '2', unit_price: '10.00' }],
      payments: [
        { payment_type_id: CARD, amount: '10.00', card },
        { payment_type_id: CARD, amount: '10.00', end_to_end_id: PIX },
      ],
    })
    expect(warned(await scenario.when(registerSale, both)).remarks).to.deep.equal([
      { code: 'payment_already_used', field: 'payments[0].card.nsu', message: 'já está na venda 9', sale_id: 9 },
      { ...USED, field: 'payments[1].end_to_end_id', message: 'já está na venda 8' },
    ])
    const fresh = await given(...shop, byPix(8))
    const refused = await fresh.when(registerSale, { ...sale({ end_to_end_id: PIX }), strict: true })
    refused.refuses('payment_already_used', { field: 'payments[0].end_to_end_id', sale_id: 8 })
    const other = await fresh.when(registerSale, { ...sale({ card }), strict: true })
    expect(warned(other)).to.deep.equal({ own: [], remarks: [] })
  })

  it('is free again when its sale is cancelled, and taken by the next that stands [SALE-785]', async () => {
    const scenario = await given(...shop, byPix(7), byPix(8), cancelled(7))
    expect(warned(await scenario.when(registerSale, sale({ end_to_end_id: PIX }))).own).to.deep.equal([USED])
    const payments = [{ ...paid, status: 'completed' as const, end_to_end_id: PIX }]
    const free = await given(...shop, byPix(8), cancelled(8), offlineSaleCancelled({ id: 9, payments }))
    expect(warned(await free.when(registerSale, { ...sale({ end_to_end_id: PIX }), strict: true })).own).to.deep.equal(
      [],
    )
  })

  it('is not warned of in the same upload again, nor in a cancelled one [SALE-785]', async () => {
    const scenario = await given(...shop)
    const own = uploaded({ end_to_end_id: PIX })
    expect(recorded(await scenario.when(recordOfflineSale, own)).warnings).to.deep.equal([])
    const again = (await scenario.when(recordOfflineSale, own)).decision as Accepted
    expect([again.outcome, again.remarks]).to.deep.equal(['unchanged', { warnings: [] }])
    const gone = uploaded({ end_to_end_id: PIX }, { offline_id: 'pdv-2', status: 'cancelled' })
    expect(recorded(await scenario.when(recordOfflineSale, gone)).warnings).to.deep.equal([])
    const payments = [{ ...paid, status: 'completed' as const, end_to_end_id: PIX }]
    const other = await given(...shop, offlineSaleCompleted({ id: 8, offline_id: 'a', payments }))
    const { warnings } = recorded(await other.when(recordOfflineSale, own))
    expect(warnings).to.deep.equal([{ ...warning('payment_already_used', { found: PIX }), sale_id: 8 }])
  })
})
