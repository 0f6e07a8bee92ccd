import { z } from 'zod'
import { CalendarDate } from '#domain/instant.ts'
import { ExternalId } from '#domain/text.ts'
import { QueryId } from '#http/query-values.ts'
import { FISCAL_STATES, type SaleObject } from '#projections/sales.ts'
import { listLatestSales } from '#queries/sales/sales.ts'
import { dateTime, money, personName } from '../../format.ts'
import type { Fields } from '../../forms/form.ts'
import { choice, date, integer, line, namedOptions, optionsOf } from '../../forms/kinds.ts'
import { link } from '../../link.ts'
import type { Page, PanelRoute, Visit } from '../../route.ts'
import { type Column, List, listed, searched } from '../../ui/list.tsx'
import { type State, StateBadge } from '../../ui/parts.tsx'
import { CHANNELS } from '../../words/events.ts'

export const SALE_STATES: Readonly<Record<SaleObject['status'], State>> = {
  completed: ['good', 'Concluída'],
  cancelled: ['bad', 'Cancelada'],
}

export const SaleBadge = ({ status }: Pick<SaleObject, 'status'>) => <StateBadge state={SALE_STATES[status]} />

const STATUSES = ['completed', 'cancelled'] as const
const statuses = optionsOf(STATUSES, (status) => SALE_STATES[status][1])

const FISCAL: Readonly<Record<(typeof FISCAL_STATES)[number], string>> = { missing: 'Falta', present: 'Em vigor' }

const FILTERS: Fields = {
  id: { label: 'Número', kind: integer, columns: 3 },
  external_id: { label: 'Código externo', kind: line, columns: 3 },
  customer: { label: 'Cliente', kind: line, columns: 6 },
  status: { label: 'Situação', kind: choice(statuses, 'Todas'), columns: 3 },
  origin: { label: 'Origem', kind: choice(namedOptions(CHANNELS), 'Todas'), columns: 3 },
  fiscal: { label: 'Documento fiscal', kind: choice(namedOptions(FISCAL), 'Tanto faz'), columns: 3 },
  sold_from: { label: 'De', kind: date, columns: 3 },
  sold_to: { label: 'Até', kind: date, columns: 3 },
}

const Search = z.object({
  id: QueryId.optional(),
  external_id: ExternalId.optional(),
  customer: z.string().max(200).optional(),
  status: z.enum(STATUSES).optional(),
  origin: z.enum(['api', 'pdv', 'system']).optional(),
  fiscal: z.enum(FISCAL_STATES).optional(),
  sold_from: CalendarDate.optional(),
  sold_to: CalendarDate.optional(),
  cursor: z.string().max(2_000).optional(),
})

const columnsFor = (timezone: string): Column<SaleObject>[] => [
  { head: 'Nº', cell: ({ id }) => <a href={link(`/vendas/${id}`)}>{id}</a> },
  { head: 'Quando', cell: ({ sold_at }) => dateTime(sold_at, timezone) },
  { head: 'Cliente', cell: ({ customer }) => customer && personName(customer.name), isExtra: true },
  { head: 'Situação', cell: ({ status }) => <SaleBadge status={status} /> },
  { head: 'Total', cell: ({ total }) => money(total), isNumber: true },
  { head: 'Origem', cell: ({ origin }) => CHANNELS[origin], isExtra: true },
]

async function show(visit: Visit): Promise<Page> {
  const { companyId, pool, timezone } = visit.readModel
  const list = await listed<SaleObject>(visit, FILTERS, (asked) =>
    searched(Search, asked, (search) => listLatestSales(pool, companyId, { ...search, timezone, limit: 50 })),
  )
  const body = (
    <List
      visit={visit}
      filters={FILTERS}
      list={list}
      caption="Vendas"
      columns={columnsFor(timezone)}
      empty="Nenhuma venda encontrada."
    />
  )
  return { title: 'Vendas', body }
}

export const salesPage: PanelRoute = { path: '/vendas', section: 'sales', asOf: true, show }
