import { expect } from 'chai'
import { createItem, deactivateItem, reactivateItem, updateItem } from '#commands/item-commands.ts'
import { OfflineSaleInput } from '#commands/offline-sale-input.ts'
import { deleteReceivable, payReceivable, payReceivables, updateReceivable } from '#commands/receivables-payables.ts'
import { OfflineReturnInput, recordOfflineReturn } from '#commands/record-offline-return.ts'
import { recordOfflineSale } from '#commands/record-offline-sale.ts'
import { recordRefusedReturn } from '#commands/refused-upload-commands.ts'
import { ReturnBody, returnGoods } from '#commands/return-goods.ts'
import { type Command, isRefusal } from '#ledger/command.ts'
import { offlineReturnById } from '#projections/returns.ts'
import { limitUsesByUser, liveUser, userById } from '#projections/users.ts'
import {
  companyRegistered,
  itemCreated,
  paymentTypeCreated,
  receivableCreated,
  saleCompleted,
  userCreated,
} from '../support/facts.ts'
import { given, minute, type Scenario } from '../support/given.ts'
import { offlineSaleOf } from '../support/offline-sales.ts'

const [OWNER, CLERK, OTHER_CLERK] = [1, 2, 3]

const shop = [
  companyRegistered(),
  userCreated({ id: OWNER, role: 'owner' }),
  userCreated({ id: CLERK, email: 'bia@loja.example', role: 'clerk' }),
  userCreated({ id: OTHER_CLERK, email: 'dora@loja.example', role: 'clerk' }),
  paymentTypeCreated({ id: 1 }),
  itemCreated({ id: 10, price: '10.00', barcode: '7891000100103', stock: null }),
]
const DEBTS = [1, 2, 3].map((id) => receivableCreated({ id, origin: 'sale', sale_id: 8, amount: '1000.00' }))

/** What a user of the panel gets: null if it is done, else the refusal and its details. */
async function as<I>(
  scenario: Scenario,
  userId: number,
  command: Command<I>,
  input: I,
  { approver = null as number | null, day = 0 } = {},
): Promise<unknown> {
  const users = [userId, ...(approver === null ? [] : [approver])]
  const rows = await scenario.rows(...users.map(userById), limitUsesByUser(userId))
  const caller = { userId, generation: 0, email: 'x@y.example', personGeneration: 0, sessionHash: Buffer.alloc(32) }
  const now = minute(day * 24 * 60)
  const permit = liveUser(caller, approver).permitsOf?.(rows, now)
  const { decision } = await scenario.when(command, input, 'panel', `user/${userId}`, null, [], permit)
  return isRefusal(decision) ? decision.refused : null
}

const discount = (id: number, amount: string) => ({ id, amount, discount: amount, payment_method: 'other' })
const REFUSED = 'permission_required'

describe('limits of roles', () => {
  it('sum the discounts of a day, over accounts, forms and users apart [ROLE-780]', async () => {
    const scenario = await given(...shop, ...DEBTS)
    expect(await as(scenario, CLERK, payReceivable, discount(1, '60.00'))).to.equal(null)
    expect(await as(scenario, CLERK, payReceivable, discount(2, '40.01'))).to.equal(REFUSED)
    const accounts = [{ id: 2, open_amount: '1000.00' }]
    const several = { accounts, received: '100.00', discount: '40.01', payment_method: 'pix' }
    expect(await as(scenario, CLERK, payReceivables, several)).to.equal(REFUSED)
    expect(await as(scenario, CLERK, updateReceivable, { id: 3, changes: { amount: '959.99' } })).to.equal(REFUSED)
    expect(await as(scenario, CLERK, payReceivable, discount(2, '40.00'))).to.equal(null)
    expect(await as(scenario, OTHER_CLERK, payReceivable, discount(3, '100.00')), 'another user').to.equal(null)
  })

  it('discounts of an account sum over users and days [ROLE-780]', async () => {
    const scenario = await given(...shop, ...DEBTS)
    expect(await as(scenario, CLERK, payReceivable, discount(1, '90.00'))).to.equal(null)
    expect(await as(scenario, OTHER_CLERK, payReceivable, discount(1, '10.01'))).to.equal(REFUSED)
    expect(await as(scenario, CLERK, payReceivable, discount(1, '10.01'), { day: 1 })).to.equal(REFUSED)
    expect(await as(scenario, OWNER, payReceivable, discount(1, '500.00'))).to.equal(null)
  })

  it('count what was lowered and deleted as a discount; what was approved uses none of the day [ROLE-781]', async () => {
    const scenario = await given(...shop, ...DEBTS)
    const lower = (amount: string) => ({ id: 1, changes: { amount } })
    expect(await as(scenario, CLERK, updateReceivable, lower('0.01'))).to.equal(REFUSED)
    expect(await as(scenario, CLERK, deleteReceivable, { id: 2 })).to.equal(REFUSED)
    expect(await as(scenario, CLERK, deleteReceivable, { id: 2 }, { approver: OWNER })).to.equal(null)
    for (const amount of ['950.00', '900.00'])
      expect(await as(scenario, CLERK, updateReceivable, lower(amount))).to.equal(null)
    expect(await as(scenario, OTHER_CLERK, updateReceivable, lower('899.99')), 'of the account').to.equal(REFUSED)
    expect(await as(scenario, CLERK, updateReceivable, { id: 1, changes: { description: 'Fiado' } })).to.equal(null)
  })

  it('sum the returns of a sale, and of a day [ROLE-780]', async () => {
    const items = [{ ...itemOf('20.000', '10.00'), total: '200.00' }]
    const payments = [{ payment_type_id: 1, name: 'Dinheiro', amount: '200.00', surcharge: '0.00', net: '200.00' }]
    const sold = [8, 9].map((id) => saleCompleted({ id, items, payments, subtotal: '200.00', total: '200.00' }))
    const scenario = await given(...shop, ...sold)
    const back = (id: number, quantity: number) => ({
      id,
      ...ReturnBody.parse({
        reason: 'Defeito',
        items: [{ line: 0, quantity: String(quantity) }],
        refunds: [{ payment_type_id: 1, amount: `${quantity * 10}.00` }],
      }),
    })
    expect(await as(scenario, CLERK, returnGoods, back(8, 6))).to.equal(null)
    expect(await as(scenario, CLERK, returnGoods, back(9, 5)), 'the day').to.equal(REFUSED)
    expect(await as(scenario, OTHER_CLERK, returnGoods, back(8, 5)), 'the sale').to.equal(REFUSED)
    expect(await as(scenario, CLERK, returnGoods, back(9, 5), { approver: OWNER })).to.equal(null)
    expect(await as(scenario, CLERK, returnGoods, back(8, 4))).to.equal(null)
    expect(await as(scenario, CLERK, returnGoods, back(9, 1)), 'the next day, of a sale with an approval').to.equal(
      REFUSED,
    )
  })

  it('bind returns of tills by the day of their upload, whatever day a till names [UP-764] [ROLE-780]', async () => {
    const items = [{ ...itemOf('20.000', '10.00'), total: '200.00' }]
    const payments = [{ payment_type_id: 1, name: 'Dinheiro', amount: '200.00', surcharge: '0.00', net: '200.00' }]
    const fields = { items, payments, subtotal: '200.00', total: '200.00', seller: { user_id: CLERK, name: 'Bia' } }
    const scenario = await given(...shop, ...[7, 8, 9].map((id) => saleCompleted({ id, ...fields })))
    const uploaded = async (sale_id: number, quantity: number, returned_at = minute(0)) => {
      const back = OfflineReturnInput.parse({
        ...{ offline_id: `d${sale_id}`, sale_id, reason: 'Defeito', returned_at, items: [{ line: 0, quantity }] },
        refunds: [{ payment_type_id: 1, amount: quantity * 10 }],
      })
      expect(await as(scenario, CLERK, recordOfflineReturn, { ...back, userId: CLERK })).to.equal(null)
      return (await scenario.rows(offlineReturnById(`d${sale_id}`))).get(offlineReturnById(`d${sale_id}`))
    }
    expect(await uploaded(7, 6)).to.include({ state: 'recorded' })
    const refused = { state: 'refused', refusal: 'permission_required' }
    expect(await uploaded(8, 5, '2026-03-01T12:00:00.000Z')).to.include(refused)
    expect(await uploaded(9, 4)).to.include({ state: 'recorded' })
    const { return_id: id = 0 } = (await uploaded(8, 5, '2026-03-01T12:00:00.000Z')) ?? {}
    expect(await as(scenario, CLERK, recordRefusedReturn, { id }), 'sees no other sales').to.equal(REFUSED)
    expect(await as(scenario, OWNER, recordRefusedReturn, { id })).to.equal(null)
  })

  it('count the discounts of tills, which are recorded with a warning [ROLE-780] [ROLE-781]', async () => {
    const scenario = await given(...shop, ...DEBTS)
    const upload = async (offline_id: string, price: number, total: number) => {
      const fields = {
        offline_id,
        created_at: minute(0),
        items: [{ product_id: 10, quantity: 1, price, total: price }],
        payments: [{ payment_type_id: 1, amount: total, status: 'completed' }],
        total,
        amount_received: total,
      }
      const sale = { ...OfflineSaleInput.parse(offlineSaleOf(fields)), sellerId: CLERK }
      const { decision } = await scenario.when(recordOfflineSale, sale, 'pdv', `user/${CLERK}`)
      if (isRefusal(decision)) throw new Error(JSON.stringify(decision))
      const { warnings } = decision.remarks as { warnings: { code: string; found: string; expected: string }[] }
      return warnings.find(({ code }) => code === 'discount_limit_exceeded')
    }
    expect(await upload('a', 100, 40)).to.equal(undefined)
    expect(await as(scenario, CLERK, payReceivable, discount(1, '40.01'))).to.equal(REFUSED)
    expect(await upload('b', 100, 59)).to.include({ found: '41.00', expected: '100.00' })
  })

  it('take an item under the barcode of another one for a change of its price [ROLE-782]', async () => {
    const scenario = await given(...shop, itemCreated({ id: 11, name: 'Chá', barcode: null, stock: null }))
    const cheap = { name: 'Café', price: '1.00', type: 'product' as const }
    expect(await as(scenario, CLERK, deactivateItem, { id: 10 })).to.equal(null)
    expect(await as(scenario, CLERK, createItem, { ...cheap, barcode: '7891000100103' })).to.equal(REFUSED)
    expect(await as(scenario, CLERK, createItem, { ...cheap, barcode: '07891000100103' }), 'a zero before').to.equal(
      REFUSED,
    )
    expect(await as(scenario, CLERK, createItem, { ...cheap, gtin: '7891000100103' }), 'as GTIN').to.equal(REFUSED)
    const move = { id: 11, changes: { barcode: '7891000100103' } }
    expect(await as(scenario, CLERK, updateItem, move)).to.equal(REFUSED)
    expect(await as(scenario, CLERK, reactivateItem, { id: 10 }), 'its own').to.equal(null)
    expect(await as(scenario, CLERK, updateItem, { id: 10, changes: { barcode: null } })).to.equal(null)
    expect(await as(scenario, CLERK, updateItem, move), 'released').to.equal(REFUSED)
    expect(await as(scenario, CLERK, updateItem, move, { approver: OWNER })).to.equal(null)
    expect(await as(scenario, CLERK, createItem, { ...cheap, barcode: 'LOJA-1' }), 'a new one').to.equal(null)
  })
})

const itemOf = (quantity: string, unit_price: string) => ({
  catalog_item_id: 10,
  external_id: null,
  description: 'Café',
  quantity,
  unit_price,
  moves_stock: false,
})
