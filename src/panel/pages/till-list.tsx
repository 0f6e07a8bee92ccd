import { formatCount, formatDateTime, formatDateTimeSeconds, formatMoney } from '#domain/person-values.ts'
import { listRefusedSales, listUploads, type RefusedSale, type UploadedSale } from '#queries/offline-sale-queries.ts'
import { amountCell, listFile } from '../csv-files.ts'
import { choiceInput } from '../forms/input-kinds.ts'
import type { Fields } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { PageContext, PanelPage, PanelRoute } from '../panel-route.ts'
import { namesOfActors } from '../record-history.tsx'
import { Card, ShortId } from '../ui/page-parts.tsx'
import { type Column, List, type ListRequest, ListTable, readListPage } from '../ui/panel-list.tsx'
import { OpenCashSessions } from './cash-session-pages.tsx'
import { CompanyTills } from './company-tills.tsx'
import { refusedColumns } from './refused-sale-pages.tsx'
import { RefusedMovements, RefusedReturns, seesRefusedMovements, seesRefusedReturns } from './refused-upload-pages.tsx'
import { SALE_STATES, SaleBadge } from './sale-list.tsx'
import { TillsToday } from './till-pages.tsx'
import { CLOSING } from './tills-closing.tsx'
import { Warnings } from './uploaded-sale-pages.tsx'

/** Refused sales shown above the uploads. */
const FIRST_REFUSED = 5

const FILTERS: Fields = {
  warned: { label: 'Mostrar', kind: choiceInput([{ value: 'sim', label: 'Só com avisos' }], 'Todas'), columns: 4 },
}

async function show(visit: PageContext): Promise<PanelPage> {
  const { readModel } = visit
  const { reader, timezone } = readModel
  const refused = await listRefusedSales(reader, { limit: FIRST_REFUSED })
  const list = await readListPage<UploadedSale>(visit, FILTERS, pageOf)
  const names = await namesOfActors(readModel, list.rows)
  const body = (
    <>
      {await OpenCashSessions({ visit })}
      {await CompanyTills({ visit })}
      {await TillsToday({ visit })}
      <OpenRefusedSales total={refused.total} sales={refused.sales} timezone={timezone} />
      {seesRefusedReturns(visit) && (await RefusedReturns({ visit }))}
      {seesRefusedMovements(visit) && (await RefusedMovements({ visit }))}
      <h2>Vendas enviadas pelos caixas</h2>
      <List
        visit={visit}
        filters={FILTERS}
        list={list}
        caption="Vendas enviadas pelos caixas"
        columns={uploadColumns(timezone, names)}
        empty="Nenhuma venda enviada."
        quick={[{ label: 'Só com avisos', filters: { warned: 'sim' } }]}
        file="/caixas.csv"
      />
    </>
  )
  return { title: 'Caixas', main: { label: 'Fechamento do dia', to: CLOSING }, body }
}

interface OpenRefusedSalesProps {
  readonly total: number
  readonly sales: readonly RefusedSale[]
  readonly timezone: string
}

/** Open refused sales: the till may have taken money for them. */
const OpenRefusedSales = ({ total, sales, timezone }: OpenRefusedSalesProps) => (
  <Card
    title="Vendas recusadas"
    aside={
      <>
        {total > sales.length && <a href={link('/caixas/recusadas')}>{`Ver todas (${total})`}</a>}
        <a href={link('/caixas/recusadas/resolvidas')}>Resolvidas</a>
      </>
    }
  >
    {total > 0 && (
      <p>{total === 1 ? '1 venda recusada para resolver.' : `${formatCount(total)} vendas recusadas para resolver.`}</p>
    )}
    <ListTable
      isList
      caption="Vendas recusadas para resolver"
      columns={refusedColumns(timezone)}
      rows={sales}
      empty="Nenhuma venda recusada para resolver."
    />
  </Card>
)

const uploadColumns = (timezone: string, names: (actor: string | null) => string): Column<UploadedSale>[] => [
  { head: 'Venda', cell: ({ sale }) => <a href={link(`/vendas/${sale.id}`)}>{sale.id}</a> },
  { head: 'Recebida em', cell: ({ recorded_at }) => formatDateTime(recorded_at, timezone), isExtra: true },
  { head: 'Enviada por', cell: ({ actor }) => names(actor), isExtra: true },
  { head: 'No caixa', cell: ({ offline_id }) => offline_id && <ShortId id={offline_id} />, isExtra: true },
  { head: 'Situação', cell: ({ sale }) => <SaleBadge status={sale.status} />, isExtra: true },
  { head: 'Total', cell: ({ sale }) => formatMoney(sale.total), isNumber: true },
  { head: 'Avisos', cell: (upload) => <Warnings sale={upload.sale} upload={upload} timezone={timezone} /> },
]

const pageOf = ({ readModel }: PageContext, asked: Readonly<Record<string, string>>, { limit }: ListRequest) => {
  const { warned, ...paging } = asked
  return listUploads(readModel.reader, { ...paging, warned: warned !== undefined, limit })
}

/** An upload with its user's name. */
type UploadWithSender = UploadedSale & { readonly sender: string }

const file = listFile<UploadWithSender>({
  path: '/caixas',
  section: 'tills',
  filters: FILTERS,
  page: pageOf,
  async complete({ readModel }, uploads) {
    const names = await namesOfActors(readModel, uploads)
    return uploads.map((upload) => ({ ...upload, sender: names(upload.actor) }))
  },
  columns: ({ readModel: { timezone } }) => [
    ['Venda', ({ sale }) => sale.id],
    ['No caixa', ({ offline_id }) => offline_id],
    ['Vendida em', ({ sale }) => formatDateTimeSeconds(sale.sold_at, timezone)],
    ['Recebida em', ({ recorded_at }) => formatDateTimeSeconds(recorded_at, timezone)],
    ['Enviada por', ({ sender }) => sender],
    ['Situação', ({ sale }) => SALE_STATES[sale.status][1]],
    ['Total', ({ sale }) => amountCell(sale.total)],
    ['Avisos', ({ warnings }) => warnings.length],
  ],
})

export const tillsPages: readonly PanelRoute[] = [{ path: '/caixas', section: 'tills', show }, file]
