import { expect } from 'chai'
import { formatCents, parseCents, parseDiscount, parseQuantity, percentOf, priceTimes } from '../../till/amounts.ts'
import {
  addProduct,
  type Cart,
  type CartPayment,
  cartTotal,
  changeLine,
  changeOf,
  emptyCart,
  refuseFinish,
  refusePayment,
  removeLine,
  toSale,
} from '../../till/cart.ts'
import { drawerOf } from '../../till/context.ts'
import { isPin, MAX_WRONG_PINS, tryPin, withPin } from '../../till/pins.ts'
import { crc16, pixCode } from '../../till/pix-code.ts'
import { createCatalog, fold } from '../../till/product-search.ts'
import type { Product, Recorded, TillConfig } from '../../till/records.ts'
import { checkDigit, DEFAULT_SCALE, readScaleLabel } from '../../till/scale-labels.ts'
import { offeredDrawer, vouchersOf } from '../../till/selling.ts'
import type { Drawer, Operator } from '../../till/stored.ts'
import { chooseByCode, readTyped } from '../../till/typed.ts'

const product = (fields: Partial<Product>): Product => {
  const { name = 'Café torrado 500 g' } = fields
  const base = { id: 9, offlineId: null, barcode: '7891000100103', sku: 'CAFE', unit: 'UN', price: 1890 }
  return { ...base, name, folded: fold(name), ...fields }
}

const paid = (given: number, kind = 'cash'): CartPayment => ({
  typeId: 1,
  name: kind,
  kind,
  isCash: kind === 'cash',
  given,
  voucher: '',
})

const CONTEXT = {
  offlineId: 'venda-1',
  now: '2026-11-29T12:00:00.000Z',
  clockOffsetMs: 0,
  sessionId: null,
  exchange: null,
}

describe('amounts at the till', () => {
  it('multiplies prices and quantities exactly, half a cent rounded up', () => {
    expect(priceTimes(1890, 2000)).to.equal(3780)
    expect(priceTimes(1, 500)).to.equal(1)
    expect(priceTimes(1, 499)).to.equal(0)
    expect(priceTimes(99_999_999_99, 999_999)).to.equal(9_999_989_999_000)
  })

  it('reads amounts and quantities as they are typed in Brazil, and nothing else', () => {
    expect(['18,90', '18.9', '1.234,50', 'R$ 5', '0'].map(parseCents)).to.deep.equal([1890, 1890, 123_450, 500, 0])
    expect(['', 'x', '-1', '1,234', '1e3', '9'.repeat(30)].map(parseCents)).to.deep.equal([...Array(6)].map(() => null))
    expect(['1', '0,5', '1,234', '0'].map(parseQuantity)).to.deep.equal([1000, 500, 1234, null])
    expect(formatCents(123_450)).to.equal('R$ 1.234,50')
  })

  it('takes discounts in reais and percent, never above the amount', () => {
    expect(['2,50', '10%', '33,33%', '100%'].map((text) => parseDiscount(text, 1000))).to.deep.equal([
      250, 100, 333, 1000,
    ])
    expect(['10,01', '100,01%', 'x'].map((text) => parseDiscount(text, 1000))).to.deep.equal([null, null, null])
    expect(percentOf(1, 5000)).to.equal(1)
  })
})

describe('a sale at the till', () => {
  const cart: Cart = addProduct(emptyCart('venda-1'), product({}), 2000)

  it('adds the same product to its line and takes the last line off again', () => {
    const more = addProduct(cart, product({}), 1000)
    expect(more.lines.map(({ quantity }) => quantity)).to.deep.equal([3000])
    expect(removeLine(more, 0).lines).to.deep.equal([])
  })

  it('sends the cash that stays, all that was given, and the change', () => {
    const sale = toSale({ ...cart, payments: [paid(1000, 'card'), paid(5000)] }, CONTEXT)
    expect(sale).to.deep.include({ total: 37.8, amount_received: 60, change: 22.2 })
    expect(sale.payments.map(({ amount }) => amount)).to.deep.equal([10, 27.8])
  })

  it('sends discounts of lines in their totals and of the sale in its total', () => {
    const off = { ...changeLine(cart, 0, { discount: 80 }), discount: 200, payments: [paid(3500)] }
    expect(toSale(off, CONTEXT)).to.deep.include({ total: 35 })
    expect(toSale(off, CONTEXT).items[0]).to.deep.equal({ product_id: 9, quantity: 2, price: 18.9, total: 37 })
  })

  it('lowers a discount with what it is taken off', () => {
    const off = { ...changeLine(cart, 0, { discount: 3000 }), discount: 780 }
    expect(cartTotal(changeLine(off, 0, { quantity: 1000 }))).to.equal(0)
  })

  it('ends only when it is paid, and gives change in cash only', () => {
    expect(refuseFinish(emptyCart('venda-2'))).to.match(/item/)
    expect(refuseFinish(cart)).to.match(/Falta/)
    expect(refuseFinish({ ...cart, payments: [paid(3780, 'pix')] })).to.equal(null)
    expect(refusePayment(cart, paid(3781, 'pix'))).to.match(/dinheiro/)
    expect(refusePayment(cart, paid(3780, 'credit_account'))).to.match(/cliente/)
    expect(changeOf({ ...cart, payments: [paid(4000)] })).to.equal(220)
  })

  it('never takes more store credit than the customer has', () => {
    const customer = { id: 4, offlineId: null, name: 'Ana', document: '', credit: 1000 }
    const known = { ...cart, customer }
    expect(refusePayment(known, paid(1000, 'exchange_credit'))).to.equal(null)
    expect(refusePayment(known, paid(1001, 'exchange_credit'))).to.match(/crédito/)
    const twice = { ...known, payments: [paid(600, 'exchange_credit')] }
    expect(refusePayment(twice, paid(401, 'exchange_credit'))).to.match(/crédito/)
    expect(refusePayment(cart, paid(100, 'exchange_credit'))).to.match(/vale/)
  })

  it('names products and customers of this till by their own identifiers', () => {
    const made = addProduct(emptyCart('venda-3'), product({ id: 0, offlineId: 'p-1' }), 1000)
    const customer = { id: 0, offlineId: 'c-1', name: 'Ana', document: '', credit: 0 }
    const sale = toSale({ ...made, customer, payments: [paid(1890)] }, CONTEXT)
    expect(sale.items[0]).to.include({ offline_item_id: 'p-1' }).and.not.to.have.property('product_id')
    expect(sale).to.include({ offline_customer_id: 'c-1' }).and.not.to.have.property('customer_id')
  })
})

describe('what is typed and scanned [TILL-1113]', () => {
  const weighed = product({ id: 7, name: 'Queijo minas', sku: '00042', barcode: '', unit: 'KG', price: 8990 })
  const catalog = createCatalog([product({}), weighed])
  const label = (digits: string) => digits + checkDigit(digits)

  it('reads a quantity before a star', () => {
    expect(readTyped('3*7891000100103')).to.deep.equal({ quantity: 3000, text: '7891000100103' })
    expect(readTyped('0,5*queijo')).to.deep.equal({ quantity: 500, text: 'queijo' })
    expect(readTyped('x*y')).to.deep.equal({ quantity: 1000, text: 'x*y' })
  })

  it('finds names without accents, SKUs and barcodes', () => {
    for (const text of ['cafe', 'TORRADO café', 'CAFE', '7891000100103'])
      expect(catalog.search(text)[0]?.id, text).to.equal(9)
    expect(catalog.search('chá')).to.deep.equal([])
  })

  it('reads the labels of scales with a price', () => {
    const choice = chooseByCode(catalog, readTyped(label('200042001234')), DEFAULT_SCALE)
    expect(choice?.product.id).to.equal(7)
    expect(choice?.labelled).to.equal(1234)
    // The price of this weight is not below the label's, else the service would refuse the total.
    expect(priceTimes(8990, choice?.quantity ?? 0)).to.be.within(1234, 1243)
  })

  it('reads the labels of scales with a weight', () => {
    const scale = { digits: 5, value: 'weight' } as const
    const choice = chooseByCode(catalog, readTyped(label('200042000392')), scale)
    expect(choice).to.deep.include({ quantity: 392, labelled: null })
  })

  it('takes no label with a wrong check digit, nor of an unknown product', () => {
    const right = label('200042001234')
    const wrong = `${right.slice(0, 12)}${(Number(right[12]) + 1) % 10}`
    expect(readScaleLabel(wrong, DEFAULT_SCALE)).to.equal(null)
    expect(chooseByCode(catalog, readTyped(label('299999001234')), DEFAULT_SCALE)).to.equal(null)
  })
})

describe('the Pix code of a sale', () => {
  it('is the example of the central bank for its fields', () => {
    // Manual de Padrões para Iniciação do Pix, static QR code.
    const code =
      '00020126580014br.gov.bcb.pix0136123e4567-e12b-12d1-a456-4266554400005204000053039865802BR5913Fulano de Tal6008BRASILIA62070503***6304'
    expect(crc16(code)).to.equal('1D3D')
    const receiver = { key: '123e4567-e12b-12d1-a456-426655440000', name: 'Fulano de Tal', city: 'BRASILIA' }
    expect(pixCode(receiver, 0, '')).to.equal(`${code}1D3D`)
  })

  it('has amount and identifier, and names without accents', () => {
    const code = pixCode({ key: 'pix@loja.example', name: 'Padaria São João', city: 'São Paulo' }, 123_450, 'venda-1')
    expect(code).to.include('54071234.50').and.include('5916Padaria Sao Joao').and.include('0506venda1')
    expect(code.slice(-4)).to.equal(crc16(code.slice(0, -4)))
  })
})

describe('vouchers that this till gave', () => {
  const recorded = (kind: 'sales' | 'returns', element: object) => ({ kind, element }) as unknown as Recorded
  const refund = (voucher: string, amount: number) =>
    recorded('returns', { refunds: [{ payment_type_id: 3, amount, voucher }], returned_at: '2026-11-29T12:00:00.000Z' })
  const payment = (voucher: string, amount: number) => recorded('sales', { payments: [{ amount, voucher }] })

  it('are listed with what they still pay, the newest first', () => {
    const records = [
      refund('VALE-A', 10),
      refund('VALE-B', 7.5),
      payment('VALE-A', 4),
      refund('VALE-C', 2),
      payment('VALE-C', 2),
    ]
    const left = vouchersOf(records).map(({ voucher, amount }) => [voucher, amount])
    expect(left).to.deep.equal([
      ['VALE-B', 750],
      ['VALE-A', 600],
    ])
  })
})

describe('drawer of the panel at this till', () => {
  const drawer = { sessionId: 'g1', openedAt: '2026-11-29T12:00:00.000Z', float: 0 }
  const [ana, bia] = [1, 2].map((userId) => ({ userId }) as Operator)
  const config = { user: { id: 1 }, drawer: { session_id: 'g1', opened_at: drawer.openedAt } } as TillConfig
  const closing = { kind: 'cash', element: { kind: 'closed', session_id: 'g1' } } as unknown as Recorded

  it('is moved by its owner; the till’s own one by all its operators [TILL-1347]', () => {
    const sessionsOf = (of: Drawer) =>
      [ana, bia].map((current) => drawerOf({ drawer: of, current: current ?? null })?.sessionId)
    expect(sessionsOf(drawer)).to.deep.equal(['g1', 'g1'])
    expect(sessionsOf({ ...drawer, ownerId: 1 })).to.deep.equal(['g1', undefined])
  })

  it('is offered to its owner until it is closed here [TILL-1347]', () => {
    const offered = (current = ana, records: Recorded[] = []) =>
      offeredDrawer({ config, current: current ?? null, records })?.session_id
    expect([offered(), offered(bia), offered(ana, [closing])]).to.deep.equal(['g1', undefined, undefined])
    expect(offeredDrawer({ config: { ...config, drawer: null }, current: ana ?? null, records: [] })).to.equal(null)
  })
})

describe('the PIN of an operator', () => {
  const person = { userId: 1, name: 'Ana', email: 'ana@loja.example', token: 't', pin: null, wrongPins: 0 }

  it('has four to eight digits', () => {
    expect(['1234', '12345678', '123', '123456789', '12a4'].map(isPin)).to.deep.equal([true, true, false, false, false])
  })

  it('opens after wrong tries, which it then forgets, and not after five', async () => {
    let operator = await withPin(person, '1234')
    const wrong = async () => {
      const tried = await tryPin(operator, '9999')
      expect(tried.isRight).to.equal(false)
      operator = tried.operator
    }
    for (let tries = 1; tries < MAX_WRONG_PINS; tries++) await wrong()
    const right = await tryPin(operator, '1234')
    expect(right).to.deep.include({ isRight: true, operator: { ...operator, wrongPins: 0 } })
    await wrong()
    expect((await tryPin(operator, '1234')).isRight).to.equal(false)
  })
})
