import { expect } from 'chai'
import { ReceiveGoodsInput, receiveGoods } from '#commands/receive-goods.ts'
import { createNfeXml } from '#demo/companies/demo-seed.ts'
import { refuse } from '#domain/refusals.ts'
import { type DataOf, type EventName, event } from '#events/catalogue.ts'
import { grantAll, isRefusal, type Permit } from '#ledger/command.ts'
import { supplierItems } from '#projections/goods-receipts.ts'
import { stockMovements } from '#projections/stock.ts'
import { companyRegistered, itemCreated, supplierCreated } from '../support/facts.ts'
import { type Decided, given, FIRST_NEW_ID as N } from '../support/given.ts'

const CNPJ = '11444777000161'
const past = [
  companyRegistered(),
  itemCreated({ id: 3, stock: '-2.000', cost: '9.00', unit: 'UN' }),
  itemCreated({ id: 4, cost: '1.00' }),
  itemCreated({ id: 5, type: 'service' }),
  supplierCreated({ id: 1, document: CNPJ, name: 'Moinho' }),
]
const { accessKey } = createNfeXml({ buyer: '11222333000181', lines: [] })

const line = (fields: object) => ({ catalog_item_id: 3, quantity: '1', factor: '1', cost: '10.00', ...fields })
const inputOf = (fields: object) => ReceiveGoodsInput.parse({ lines: [line({})], new_items: [], bills: [], ...fields })

interface Circumstances {
  /** Suppliers with the document. */
  readonly found?: readonly object[]
  readonly permit?: Permit
}

async function receive(fields: object, { found = [], permit = grantAll }: Circumstances = {}) {
  const scenario = await given(...past)
  const decided = await scenario.when(receiveGoods, inputOf(fields), 'panel', 'user/1', null, found, permit)
  return { scenario, decided }
}

function eventsOf<K extends EventName>({ decision }: Decided, type: K): DataOf<K>[] {
  if (isRefusal(decision)) throw new Error(JSON.stringify(decision))
  return decision.events.flatMap((each) => (each.type === type ? [each.data as DataOf<K>] : []))
}

const linesOf = (decided: Decided) => eventsOf(decided, 'GoodsStocked')[0]?.lines ?? []

describe('receive goods', () => {
  it('records stock, cost, supplier, new items and accounts to pay in one act [STOCK-1270]', async () => {
    const { decided, scenario } = await receive({
      ...{ access_key: accessKey, reference: 'NF-e 1234, série 1', issued_on: '2026-01-10' },
      supplier: { document: CNPJ, name: 'Atacado', trade_name: 'Ata' },
      new_items: [{ name: 'Biscoito', price: '5.99', unit: 'UN', barcode: '7890000010078' }],
      lines: [
        line({ code: '2040', unit: 'CX', quantity: '2', factor: '12', cost: '100.05' }),
        line({ catalog_item_id: null, new_item: 0, code: '33', unit: 'UN', quantity: '24', cost: '96' }),
      ],
      bills: [
        { due_date: '2026-02-10', amount: '98.02' },
        { due_date: '2026-03-10', amount: '98.03' },
      ],
    })
    const supplier = { supplier_id: N, supplier_external_id: null, supplier_name: 'Atacado' }
    const payable = (id: number, number: number, amount: string, due_date: string) =>
      event('PayableCreated', {
        ...{ id, external_id: null, description: 'NF-e 1234, série 1', amount, due_date, ...supplier },
        ...{ origin: 'pdv', sale_id: null, installment: { group: N, number, count: 2 } },
      })
    const [made] = eventsOf(decided, 'CatalogItemCreated')
    expect(made).to.deep.include({ id: N, name: 'Biscoito', cost: '4.00', stock: '0.000', barcode: '7890000010078' })
    const [maker] = eventsOf(decided, 'SupplierCreated')
    expect(maker).to.deep.include({ id: N, name: 'Atacado', trade_name: 'Ata', document: CNPJ, person_type: 'PJ' })
    decided.accepts(
      'created',
      event('GoodsReceived', {
        ...{ id: N, access_key: accessKey, reference: 'NF-e 1234, série 1', issued_on: '2026-01-10' },
        ...{ supplier_id: N, payable_ids: [N, N + 1], total_cost: '196.05' },
      }),
      event('SupplierCreated', maker as never),
      event('CatalogItemCreated', made as never),
      event('GoodsStocked', {
        id: N,
        supplier_id: N,
        lines: [
          {
            ...{ catalog_item_id: 3, code: '2040', unit: 'CX', factor: '12.000', quantity: '24.000' },
            ...{ before: '-2.000', after: '22.000', unit_cost: '4.17' },
          },
          {
            ...{ catalog_item_id: N, code: '33', unit: 'UN', factor: '1.000', quantity: '24.000' },
            ...{ before: '0.000', after: '24.000', unit_cost: '4.00' },
          },
        ],
        costs: [
          { catalog_item_id: 3, former_cost: '9.00', cost: '4.17' },
          { catalog_item_id: N, former_cost: null, cost: '4.00' },
        ],
      }),
      event('CatalogItemUpdated', { id: 3, changes: { cost: '4.17' } }),
      payable(N, 1, '98.02', '2026-02-10'),
      payable(N + 1, 2, '98.03', '2026-03-10'),
    )
    expect(await scenario.show('catalog_item/3')).to.include({ stock: '22.000', cost: '4.17' })
    expect(await scenario.show(`catalog_item/${N}`)).to.include({ stock: '24.000', cost: '4.00' })
    expect(scenario.changed(stockMovements).at(-1)).to.include({
      ...{ kind: 'purchase', record: `goods_receipt/${N}`, quantity: '24.000', unit_cost: '4.00' },
    })
    expect(scenario.changed(supplierItems)).to.have.length(2)
  })

  it('takes a note once in a company [STOCK-1271]', async () => {
    const { scenario } = await receive({ access_key: accessKey })
    const again = await scenario.when(receiveGoods, inputOf({ access_key: accessKey }))
    again.refuses('duplicate_resource', { field: 'access_key', conflicting_id: N })
  })

  it('divides the exact cost by the exact quantity in own units, and rounds once, half up [STOCK-1272]', async () => {
    for (const [quantity, factor, cost, expected, stocked] of [
      ['10.0000', '12', '100.00', '0.83', '120.000'],
      ['1', '3', '0.01', '0.00', '3.000'],
      ['1', '2', '0.01', '0.01', '2.000'],
      ['2.5000', '1', '10.0125', '4.01', '2.500'],
      ['0.3333', '1', '1.00', '3.00', '0.333'],
      ['3', '0.333', '1', '1.00', '0.999'],
      ['0.0833333333', '12', '9.9999999999', '10.00', '1.000'],
      ['1', '1', '0', '0.00', '1.000'],
    ] as const) {
      const { decided } = await receive({ lines: [line({ quantity, factor, cost })] })
      expect(linesOf(decided)[0], `${quantity} × ${factor} for ${cost}`).to.include({
        quantity: stocked,
        unit_cost: expected,
      })
    }
  })

  it('gives an item of several lines the cost of all of them, and counts its stock on', async () => {
    const { decided } = await receive({
      lines: [line({ quantity: '1', cost: '10.00' }), line({ quantity: '3', cost: '6.00' })],
    })
    expect(linesOf(decided).map(({ after }) => after)).to.deep.equal(['-1.000', '2.000'])
    expect(eventsOf(decided, 'CatalogItemUpdated')).to.deep.equal([{ id: 3, changes: { cost: '4.00' } }])
  })

  it('leaves a stock that is not counted alone, and sets the cost', async () => {
    const { decided, scenario } = await receive({ lines: [line({ catalog_item_id: 4 })] })
    expect(linesOf(decided)[0]).to.include({ before: null, after: null })
    expect(await scenario.show('catalog_item/4')).to.include({ stock: null, cost: '10.00' })
  })

  it('finds the supplier by document, and names a new one apart from another of its name', async () => {
    const named = { document: CNPJ, name: 'Moinho' }
    const known = await receive({ supplier: named }, { found: [{ id: 1, external_id: null, name: 'Moinho' }] })
    expect(eventsOf(known.decided, 'SupplierCreated')).to.deep.equal([])
    expect(eventsOf(known.decided, 'GoodsReceived')[0]).to.include({ supplier_id: 1 })
    const other = await receive({ supplier: named })
    expect(eventsOf(other.decided, 'SupplierCreated')[0]).to.include({ name: 'Moinho (2)', document: CNPJ })
  })

  it('needs both permissions, and makes no account without a bill', async () => {
    const missing = refuse('permission_required', { permission: 'edit_payables' })
    const { decided } = await receive({}, { permit: (permission) => (permission === 'edit_payables' ? missing : {}) })
    expect(decided.decision).to.deep.equal(missing)
    expect(receiveGoods.permission).to.equal('adjust_stock')
    const { decided: unbilled } = await receive({})
    expect(eventsOf(unbilled, 'PayableCreated')).to.deep.equal([])
  })

  it('refuses what cannot be received, and records nothing', async () => {
    const item = { name: 'Biscoito', price: '5.99', barcode: '7890000010078' }
    for (const [fields, field] of [
      [{ lines: [line({ catalog_item_id: 99 })] }, 'lines[0].catalog_item_id'],
      [{ lines: [line({}), line({ catalog_item_id: 5 })] }, 'lines[1].catalog_item_id'],
      [{ lines: [line({ catalog_item_id: null })] }, 'lines[0].catalog_item_id'],
      [{ lines: [line({ catalog_item_id: null, new_item: 0 })] }, 'lines[0].catalog_item_id'],
      [{ lines: [line({ quantity: '0.0001' })] }, 'lines[0].quantity'],
      [{ lines: [line({ quantity: '999999999', factor: '2' })] }, 'lines[0].quantity'],
      [{ lines: [line({ quantity: '0.001', cost: '99999999.99' })] }, 'lines[0].cost'],
      [{ new_items: [item] }, 'new_items[0]'],
      [
        {
          new_items: [item, item],
          lines: [line({ catalog_item_id: null, new_item: 0 }), line({ catalog_item_id: null, new_item: 1 })],
        },
        'new_items[1].barcode',
      ],
      [{ supplier: { id: 9 } }, 'supplier'],
    ] as const) {
      const { decided } = await receive(fields)
      expect(decided.decision, field).to.have.nested.property('details.fields').that.has.all.keys(field)
    }
  })

  it('takes one item a line, 990 lines and positive costs', () => {
    for (const fields of [
      { lines: [] },
      { lines: Array.from({ length: 991 }, () => line({})) },
      { lines: [line({ new_item: 0 })] },
      { lines: [line({ cost: '-1' })] },
      { lines: [line({ factor: '0' })] },
      { access_key: '1'.repeat(44) },
    ])
      expect(ReceiveGoodsInput.safeParse({ lines: [line({})], new_items: [], bills: [], ...fields }).success).to.equal(
        false,
      )
  })
})
