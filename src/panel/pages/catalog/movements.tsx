import { toThousandths } from '#domain/quantity.ts'
import { listStockMovements, type StockMovement } from '#queries/catalog/stock-movements.ts'
import { formatDateTime, formatQuantity } from '../../format.ts'
import { link } from '../../link.ts'
import type { PageContext } from '../../route.ts'
import { namesOfActors } from '../../ui/history.tsx'
import { ListTable } from '../../ui/list.tsx'
import { Card } from '../../ui/parts.tsx'
import { ORDERS_PATH } from '../orders.tsx'
import type { Item } from './stock.tsx'

interface MovementsProps {
  readonly visit: PageContext
  readonly item: Item
}

/**
 * Stock movements of a product, newest first, with their causes; `estoque` in the query string is the page (PANEL-164).
 */
export async function MovementsCard({ visit, item }: MovementsProps) {
  const { readModel, context, path } = visit
  if (item.type === 'service' || readModel.moment) return null
  const { estoque, ...query } = visit.query
  const before = /^[1-9]\d{0,14}$/.test(estoque ?? '') ? Number(estoque) : null
  const ledgers = { pool: readModel.pool, store: context.store, keys: context.keys }
  const found = await listStockMovements(ledgers, readModel.companyId, item.id, before)
  if (!found || (found.movements.length === 0 && before === null)) return null
  const actors = await namesOfActors(readModel, found.movements)
  return (
    <Card title="Movimentação do estoque" id="movimentacao">
      <StockLine movements={found.movements} />
      <ListTable
        caption="Movimentação do estoque"
        rows={found.movements}
        empty="Nada mais."
        columns={[
          { head: 'Quando', cell: ({ recorded_at }) => formatDateTime(recorded_at, readModel.timezone) },
          { head: 'Motivo', cell: (movement) => <Reason movement={movement} /> },
          { head: 'Quem', cell: ({ actor }) => actors(actor), isExtra: true },
          { head: 'Mudou', cell: ({ change }) => (change === null ? '—' : signed(change)), isNumber: true },
          {
            head: 'Ficou',
            cell: ({ after }) => (after === null ? 'Sem controle' : formatQuantity(after).replace('-', '−')),
            isNumber: true,
          },
        ]}
      />
      {(before !== null || found.next !== null) && (
        <nav class="pager" aria-label="Páginas da movimentação">
          {before !== null && <a href={`${link(path, query)}#movimentacao`}>« Últimas</a>}
          {found.next !== null && (
            <a href={`${link(path, { ...query, estoque: found.next })}#movimentacao`} rel="next">
              Anteriores »
            </a>
          )}
        </nav>
      )}
    </Card>
  )
}

const signed = (change: string): string =>
  change.startsWith('-') ? formatQuantity(change).replace('-', '−') : `+${formatQuantity(change)}`

const Reason = ({ movement }: { readonly movement: StockMovement }) => {
  const { reason, sale_id, order_id, change } = movement
  if (order_id !== null)
    return (
      <a href={link(`${ORDERS_PATH}/${order_id}`)}>
        {change?.startsWith('-') ? `Nova saída do pedido ${order_id}` : `Devolução do pedido ${order_id}`}
      </a>
    )
  if (sale_id !== null)
    return (
      <a href={link(`/vendas/${sale_id}`)}>
        {reason === 'sale' ? `Venda ${sale_id}` : `Cancelamento da venda ${sale_id}`}
      </a>
    )
  if (reason === 'created') return <>Estoque inicial</>
  if (reason === 'count') return <>Contagem</>
  return <>{change?.startsWith('-') ? 'Acerto para menos' : 'Acerto para mais'}</>
}

const [WIDTH, HEIGHT] = [600, 80]

/** Chart of the stock after each movement, oldest first; the axis includes zero. */
const StockLine = ({ movements }: { readonly movements: readonly StockMovement[] }) => {
  const kept = movements.flatMap(({ after }) => after ?? []).reverse()
  if (kept.length < 2) return null
  const levels = kept.map(toThousandths)
  const [least, most] = [Math.min(0, ...levels), Math.max(0, ...levels)]
  const heightOf = (level: number) => Math.round(((most - level) / Math.max(1, most - least)) * HEIGHT)
  const step = WIDTH / (levels.length - 1)
  const points = levels.map((level, at) => `${Math.round(at * step)},${heightOf(level)}`).join(' ')
  const [first, last] = [formatQuantity(kept[0] ?? ''), formatQuantity(kept.at(-1) ?? '')]
  return (
    <svg
      class="stock-line"
      viewBox={`0 -4 ${WIDTH} ${HEIGHT + 8}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`Estoque nas ${kept.length} movimentações abaixo: de ${first} a ${last}`}
    >
      <line x1="0" x2={WIDTH} y1={heightOf(0)} y2={heightOf(0)} />
      <polyline points={points} />
    </svg>
  )
}
