import { pathId } from '#http/paths.ts'
import {
  listRefusedSales,
  listSettledSales,
  type RefusedSale,
  type RefusedSaleRecord,
} from '#queries/sales/offline-sales.ts'
import { dateTime } from '../format.ts'
import { link } from '../link.ts'
import type { Page, PanelRoute, Visit } from '../route.ts'
import { Actions, ButtonLink, Pager } from '../ui/parts.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { reasonOf } from '../words/refused-sales.ts'

const PATH = '/caixas/recusadas'
const SETTLED_PATH = `${PATH}/resolvidas`

/** A page of them; one more is asked for, to know whether there are more. */
const SHOWN = 50

export const refusedColumns = (timezone: string): Column<RefusedSale>[] => [
  {
    head: 'Venda do caixa',
    cell: ({ id, offline_id }) => <a href={link(`${PATH}/${id}`)}>{offline_id || 'sem identificação'}</a>,
  },
  { head: 'Recusada em', cell: ({ last_refused_at }) => dateTime(last_refused_at, timezone) },
  { head: 'Enviada por', cell: ({ user }) => user.name, isExtra: true },
  { head: 'Motivo', cell: reasonOf, isExtra: true },
  { head: 'Vezes', cell: ({ times }) => times, isNumber: true, isExtra: true },
]

/** Who settled it: a person, or the till that sent it corrected. */
export const settlerOf = ({ settled_by }: RefusedSaleRecord): string =>
  settled_by ? (settled_by.name ?? `usuário ${settled_by.id}`) : 'o caixa, que enviou a venda corrigida'

const settledColumns = (timezone: string): Column<RefusedSaleRecord>[] => [
  ...refusedColumns(timezone).filter(({ head }) => head !== 'Vezes'),
  { head: 'Resolvida em', cell: ({ settled_at }) => settled_at && dateTime(settled_at, timezone) },
  { head: 'Por', cell: settlerOf },
]

async function showOpen({ books, query }: Visit): Promise<Page> {
  const after = pathId(query.cursor ?? '') ?? 0
  const { total, sales } = await listRefusedSales(books.pool, books.companyId, { after, limit: SHOWN + 1 })
  const body = (
    <>
      <Actions>
        <ButtonLink to={SETTLED_PATH}>Resolvidas</ButtonLink>
        <ButtonLink to="/caixas">Voltar</ButtonLink>
      </Actions>
      <p class="hint">À espera de alguém que as resolva: {total}. As mais antigas vêm primeiro.</p>
      <Listed path={PATH} query={query} columns={refusedColumns(books.timezone)} found={sales} />
    </>
  )
  return { title: 'Vendas recusadas', body }
}

async function showSettled({ books, query }: Visit): Promise<Page> {
  const before = pathId(query.cursor ?? '') ?? undefined
  const sales = await listSettledSales(books.pool, books.companyId, { before, limit: SHOWN + 1 })
  const body = (
    <>
      <Actions>
        <ButtonLink to="/caixas">Voltar</ButtonLink>
      </Actions>
      <p class="hint">Ficam aqui por 90 dias depois de resolvidas.</p>
      <Listed path={SETTLED_PATH} query={query} columns={settledColumns(books.timezone)} found={sales} />
    </>
  )
  return { title: 'Vendas recusadas resolvidas', body }
}

interface ListedProps<R> {
  readonly path: string
  readonly query: Visit['query']
  readonly columns: readonly Column<R>[]
  readonly found: readonly R[]
}

function Listed<R extends RefusedSale>({ path, query, columns, found }: ListedProps<R>) {
  const rows = found.slice(0, SHOWN)
  const next = found.length > SHOWN ? String(rows.at(-1)?.id) : null
  return (
    <>
      <Table caption="Vendas recusadas" columns={columns} rows={rows} empty="Nenhuma venda." />
      <Pager path={path} query={query} next={next} />
    </>
  )
}

export const refusedSaleLists: readonly PanelRoute[] = [
  { path: PATH, section: 'tills', show: showOpen },
  { path: SETTLED_PATH, section: 'tills', show: showSettled },
]
