import type { IdKind } from '#domain/id-kinds.ts'
import { pathId } from '#http/paths.ts'
import { listHistory } from '#queries/events.ts'
import { pageOf } from '../contract/envelopes.ts'
import { LedgerEvent } from '../contract/records/events.ts'
import { type Route, read } from '../route.ts'
import { pageQuery } from './list-query.ts'
import { answerPage } from './record-routes.ts'

/** Records whose events can be listed: where they are found, and how they are called. */
const RECORDS: readonly (readonly [path: string, kind: IdKind, name: string, one: string])[] = [
  ['/customers', 'customer', 'Customer', 'um cliente'],
  ['/suppliers', 'supplier', 'Supplier', 'um fornecedor'],
  ['/catalog/items', 'catalog_item', 'CatalogItem', 'um produto ou serviço'],
  ['/catalog/categories', 'category', 'Category', 'uma categoria'],
  ['/finance/receivables', 'receivable', 'Receivable', 'uma conta a receber'],
  ['/finance/payables', 'payable', 'Payable', 'uma conta a pagar'],
  ['/sales', 'sale', 'Sale', 'uma venda'],
  ['/orders', 'order', 'Order', 'um pedido'],
  ['/webhooks', 'webhook', 'Webhook', 'um endereço de webhook'],
]

const historyRoute = (path: string, kind: IdKind, name: string, one: string): Route =>
  read({
    path: `${path}/:id/history`,
    scope: 'audit:read',
    operation: `get${name}History`,
    summary: `Lista os eventos de ${one}`,
    description: 'Do mais antigo ao mais novo, tal como estão no livro; também de um registro excluído.',
    query: pageQuery({}),
    reply: pageOf(LedgerEvent),
    async read({ pool, store, caller, params, query }) {
      const id = pathId(params.id)
      if (id === null) return null
      const page = await listHistory({ pool, store }, caller.companyId, `${kind}/${id}`, query)
      if (!page) return null
      return answerPage(page, query.limit)
    },
  })

/** What happened to each record (FEED-3). */
export const historyRoutes: readonly Route[] = RECORDS.map((record) => historyRoute(...record))
