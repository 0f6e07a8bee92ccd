import { expect } from 'chai'
import {
  applyScheduledPrices,
  type ChangePricesInput,
  cancelScheduledPrices,
  changePrices,
  undoPriceChange,
} from '#commands/price-commands.ts'
import { refuse } from '#domain/refusals.ts'
import { event } from '#events/catalogue.ts'
import type { Permit } from '#ledger/command.ts'
import { companyRegistered, itemCreated } from '../support/facts.ts'
import { FIRST_NEW_ID, given, minute } from '../support/given.ts'

const past = [
  companyRegistered(),
  itemCreated({ id: 3, name: 'Café', price: '18.90', cost: '10.00' }),
  itemCreated({ id: 4, name: 'Chá', price: '10.00' }),
]
const rule = { kind: 'percent', amount: 500, ending: 90 } as const
const prices = [
  { catalog_item_id: 3, before: '18.90', after: '19.90' },
  { catalog_item_id: 4, before: '10.00', after: '10.90' },
]
const input: ChangePricesInput = { rule, starts_at: null, items: prices }
const id = FIRST_NEW_ID
const repriced = (item: number, price: string) =>
  event('CatalogItemUpdated', { id: item, changes: { price }, price_change_id: id })
const planned = (starts_at: string | null) => event('PriceChangePlanned', { id, rule, starts_at, prices })
const priceOf = async (scenario: Awaited<ReturnType<typeof given>>, item: number) =>
  ((await scenario.show(`catalog_item/${item}`)) as { price: string }).price
const fields = (name: string, message: string) => ({ fields: { [name]: [message] }, unknown_fields: [] })
const without =
  (missing: string): Permit =>
  (permission) =>
    permission === missing ? refuse('permission_required', { permission }) : {}

describe('change prices', () => {
  it('is one act with an event of each item [ITEM-1262]', async () => {
    const scenario = await given(...past)
    const decided = await scenario.when(changePrices, input)
    decided.accepts(
      'created',
      planned(null),
      event('PriceChangeApplied', { id, left: [] }),
      repriced(3, '19.90'),
      repriced(4, '10.90'),
    )
    expect(await scenario.show(`price_change/${id}`)).to.include({ status: 'applied', starts_at: null })
  })

  it('refuses the whole act if a price is not as it was shown, and names the item [ITEM-1263]', async () => {
    const scenario = await given(...past, event('CatalogItemUpdated', { id: 4, changes: { price: '11.00' } }))
    const decided = await scenario.when(changePrices, input)
    decided.refuses('validation_failed', fields('items', 'mudaram desde que a tabela foi mostrada: Chá'))
    const gone = await given(...past, event('CatalogItemDeactivated', { id: 3 }))
    const refused = await gone.when(changePrices, input)
    refused.refuses('validation_failed', fields('items', 'mudaram desde que a tabela foi mostrada: Café'))
    const invented = { ...input, items: [{ catalog_item_id: 3, before: '18.90', after: '1.00' }] }
    const wrong = await (await given(...past)).when(changePrices, invented)
    wrong.refuses('validation_failed', fields('items', 'mudaram desde que a tabela foi mostrada: Café'))
    const twice = await (await given(...past)).when(changePrices, { ...input, items: [prices[0], prices[0]] as never })
    twice.refuses('validation_failed', fields('items', 'um item aparece duas vezes'))
  })

  it('by cost needs the right to see costs [ITEM-1264]', async () => {
    const byCost = {
      rule: { kind: 'cost', amount: 14_000, ending: null },
      starts_at: null,
      items: [{ catalog_item_id: 3, before: '18.90', after: '14.00' }],
    } as const
    const scenario = await given(...past)
    const run = (permit?: Permit) =>
      scenario.when(changePrices, { ...byCost, items: [...byCost.items] }, 'panel', 'user/1', null, [], permit)
    for (const permission of ['see_costs', 'edit_catalog'])
      (await run(without(permission))).refuses('permission_required', { permission })
    expect((await run()).decision).to.include({ outcome: 'created' })
    expect(await priceOf(scenario, 3)).to.equal('14.00')
  })
})

describe('scheduled prices', () => {
  const starts_at = minute(5)

  it('change at their moment, once [ITEM-1265]', async () => {
    const scenario = await given(...past)
    ;(await scenario.when(changePrices, { ...input, starts_at })).accepts('created', planned(starts_at))
    ;(await scenario.when(applyScheduledPrices, { id })).accepts('unchanged')
    expect(await priceOf(scenario, 3)).to.equal('18.90')
    await scenario.happens(event('CatalogItemUpdated', { id: 4, changes: { price: '12.00' } }))
    const applied = await scenario.when(applyScheduledPrices, { id })
    applied.accepts('updated', event('PriceChangeApplied', { id, left: [4] }), repriced(3, '19.90'))
    expect([await priceOf(scenario, 3), await priceOf(scenario, 4)]).to.deep.equal(['19.90', '12.00'])
    ;(await scenario.when(applyScheduledPrices, { id })).accepts('unchanged')
    ;(await scenario.when(cancelScheduledPrices, { id })).refuses(
      'validation_failed',
      fields('id', 'os preços já mudaram: use Desfazer'),
    )
  })

  it('need a moment within the next year [ITEM-1265]', async () => {
    const scenario = await given(...past)
    const message = 'escolha um momento no futuro, ou deixe em branco para mudar agora'
    const now = await scenario.when(changePrices, { ...input, starts_at: minute(3) })
    now.refuses('validation_failed', fields('starts_at', message))
    const late = await scenario.when(changePrices, { ...input, starts_at: '2027-03-11T15:00:00.000Z' })
    late.refuses('validation_failed', fields('starts_at', 'no máximo um ano adiante'))
  })

  it('are cancelled before it [ITEM-1265]', async () => {
    const scenario = await given(...past, planned(starts_at), event('CatalogItemDeactivated', { id: 4 }))
    const cancelled = await scenario.when(cancelScheduledPrices, { id })
    cancelled.accepts('updated', event('PriceChangeCancelled', { id }))
    ;(await scenario.when(cancelScheduledPrices, { id })).accepts('unchanged')
    ;(await scenario.when(applyScheduledPrices, { id })).accepts('unchanged')
    ;(await scenario.when(undoPriceChange, { id })).refuses(
      'validation_failed',
      fields('id', 'os preços ainda não mudaram'),
    )
  })
})

describe('undo a change of prices', () => {
  it('gives the former prices back, leaves what was changed since [ITEM-1266]', async () => {
    const scenario = await given(...past)
    await scenario.when(changePrices, input)
    await scenario.happens(event('CatalogItemUpdated', { id: 4, changes: { price: '9.00' } }))
    const undone = await scenario.when(undoPriceChange, { id })
    undone.accepts('updated', event('PriceChangeUndone', { id, left: [4] }), repriced(3, '18.90'))
    expect([await priceOf(scenario, 3), await priceOf(scenario, 4)]).to.deep.equal(['18.90', '9.00'])
    ;(await scenario.when(undoPriceChange, { id })).accepts('unchanged')
  })

  it('leaves an item alone that the act itself had left [ITEM-1266]', async () => {
    const left = event('PriceChangeApplied', { id, left: [4] })
    const scenario = await given(...past, planned(minute(3)), left, repriced(3, '19.90'))
    await scenario.happens(event('CatalogItemUpdated', { id: 4, changes: { price: '10.90' } }))
    const undone = await scenario.when(undoPriceChange, { id })
    undone.accepts('updated', event('PriceChangeUndone', { id, left: [] }), repriced(3, '18.90'))
  })

  it('is possible for 30 days [ITEM-1266]', async () => {
    const scenario = await given(...past)
    await scenario.when(changePrices, input)
    const recordedAt = minute(past.length + 30 * 24 * 60 + 2)
    const old = await scenario.when(
      {
        ...undoPriceChange,
        decide: (rows, asked, context) => undoPriceChange.decide(rows, asked, { ...context, recordedAt }),
      },
      { id },
    )
    old.refuses('validation_failed', fields('id', 'só pode ser desfeita até 30 dias depois'))
  })
})
