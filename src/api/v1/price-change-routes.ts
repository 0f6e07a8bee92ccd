import * as z from 'zod'
import {
  type ChangePricesInput,
  cancelScheduledPrices,
  changePrices,
  MAX_PRICED_ITEMS,
  undoPriceChange,
} from '#commands/price-commands.ts'
import { Instant } from '#domain/instant.ts'
import { PRICE_RULE_KINDS, PriceRule } from '#domain/prices.ts'
import { Id } from '#domain/text.ts'
import { withId } from '#http/paths.ts'
import { PRICE_CHANGE_STATUSES, type PriceChangeObject } from '#projections/price-changes.ts'
import { getPriceChange, type ListedPriceChange, listPriceActs } from '#queries/item-queries.ts'
import { Amount, ContractRecordId, Timestamp } from '#records/field.ts'
import { commandRoute, type Route } from '../api-route.ts'
import { singleSchema } from '../contract/contract-document.ts'
import { getRoute, listRoute } from './record-routes.ts'

const heads = {
  id: ContractRecordId,
  status: z.enum(PRICE_CHANGE_STATUSES),
  rule: z
    .strictObject({ kind: z.enum(PRICE_RULE_KINDS), amount: z.int(), ending: z.int().min(0).max(99).nullable() })
    .meta({ id: 'PriceRule' }),
  starts_at: Timestamp.nullable(),
  created_at: Timestamp,
  applied_at: Timestamp.nullable(),
  cancelled_at: Timestamp.nullable(),
  undone_at: Timestamp.nullable(),
  left: z.array(ContractRecordId),
  left_undone: z.array(ContractRecordId),
}

const headsExample = {
  id: 4,
  status: 'applied' as const,
  rule: { kind: 'percent' as const, amount: 500, ending: 90 },
  starts_at: null,
  created_at: '2026-11-21T08:17:15.123-03:00',
  applied_at: '2026-11-21T08:17:15.123-03:00',
  cancelled_at: null,
  undone_at: null,
  left: [],
  left_undone: [],
}

const PriceChangeSummary = z.strictObject({ ...heads, items: z.int().positive() }).meta({
  id: 'PriceChangeSummary',
  examples: [{ ...headsExample, items: 1 }],
}) satisfies z.ZodType<ListedPriceChange>

const PriceChange = z
  .strictObject({
    ...heads,
    prices: z.array(
      z.strictObject({ catalog_item_id: ContractRecordId, before: Amount, after: Amount }).meta({ id: 'NewPrice' }),
    ),
  })
  .meta({
    id: 'PriceChange',
    examples: [{ ...headsExample, prices: [{ catalog_item_id: 9, before: '18.90', after: '19.90' }] }],
  }) satisfies z.ZodType<PriceChangeObject>

const Body = z
  .strictObject({
    rule: PriceRule.meta({ id: 'PriceRuleInput' }),
    starts_at: Instant.nullish(),
    catalog_item_ids: z
      .array(Id)
      .min(1, 'informe ao menos um item')
      .max(MAX_PRICED_ITEMS, `no máximo ${MAX_PRICED_ITEMS} itens por vez`),
  })
  .meta({ id: 'PriceChangeInput' })

const PATH = '/catalog/price-changes'

const act = (name: 'cancel' | 'undo', operation: string, summary: string, description: string): Route =>
  commandRoute({
    ...{ method: 'post', path: `${PATH}/:id/${name}`, scope: 'catalog:write', operation, summary, description },
    command: name === 'undo' ? undoPriceChange : cancelScheduledPrices,
    status: 200,
    reply: singleSchema(PriceChange),
    input: (params) => withId(params, {}),
  })

export const priceChangeRoutes: readonly Route[] = [
  listRoute({
    path: PATH,
    scope: 'catalog:read',
    operation: 'listPriceChanges',
    summary: 'Lista as alterações de preços',
    description: 'Sem os preços de cada item.',
    record: PriceChangeSummary,
    filters: {},
    list: listPriceActs,
    ofLedger: true,
  }),
  commandRoute({
    method: 'post',
    path: PATH,
    scope: 'catalog:write',
    operation: 'createPriceChange',
    summary: 'Altera os preços de até 900 itens, agora ou num momento',
    description:
      'Os preços seguem da regra; um item cujo preço não muda fica de fora, e um sem preço pela regra recusa a alteração inteira.',
    body: Body,
    example: { rule: { kind: 'percent', amount: 500, ending: 90 }, catalog_item_ids: [9] },
    command: changePrices,
    reply: singleSchema(PriceChange),
    input: (_params, { rule, starts_at = null, catalog_item_ids }): ChangePricesInput => ({
      ...{ rule, starts_at },
      items: catalog_item_ids.map((catalog_item_id) => ({ catalog_item_id })),
    }),
  }),
  getRoute({
    path: `${PATH}/:id`,
    scope: 'catalog:read',
    operation: 'getPriceChange',
    summary: 'Mostra uma alteração de preços, com cada preço',
    record: PriceChange,
    get: getPriceChange,
    fromReplica: true,
  }),
  act(
    'cancel',
    'cancelPriceChange',
    'Cancela uma alteração de preços agendada',
    'Só antes do momento dela. Repetir responde 200.',
  ),
  act(
    'undo',
    'undoPriceChange',
    'Desfaz uma alteração de preços',
    'Até 30 dias depois. Os itens cujo preço mudou desde então ficam como estão, em `left_undone`. Repetir responde 200.',
  ),
]
