import { formatDateTime, formatMoney, formatQuantity } from '#domain/brazilian-format.ts'
import { isRefusal } from '#ledger/command.ts'
import type { OfflineReturnWarning, ReturnObject } from '#projections/returns.ts'
import { getReturn, listLatestReturns } from '#queries/sales/returns.ts'
import { getCustomerCredit } from '#queries/sales/store-credit.ts'
import { link } from '../../link.ts'
import type { PageContext, PageRoute, PanelPage } from '../../route.ts'
import { AsOfForm, History } from '../../ui/history.tsx'
import { recordsOnPage } from '../../ui/list.tsx'
import { type Column, ListTable } from '../../ui/list-table.tsx'
import { Pager } from '../../ui/pager.tsx'
import { Card, Facts, PanelBadge, Stat, Stats } from '../../ui/parts.tsx'
import { loadRecord } from '../../ui/record-pages.tsx'
import { subjectName, subjectPath } from '../../words/events.ts'

const ROWS = 50

const RETURN_WARNINGS: Readonly<Record<OfflineReturnWarning['code'], string>> = {
  returned_more: 'Foi devolvido mais do que foi vendido',
  refund_differs: 'O valor devolvido não é o que a venda pagou por isto',
  sale_cancelled: 'A venda já estava cancelada',
  receivable_open: 'Ainda há conta a receber desta venda em aberto',
  credit_without_customer: 'Crédito de troca sem cliente: ninguém recebeu o saldo',
  returned_at_in_future: 'O relógio do caixa estava adiantado',
}

const columnsOf = (timezone: string, { reaches }: PageContext): Column<ReturnObject>[] => [
  {
    head: 'Devolução',
    cell: ({ id }: ReturnObject) =>
      reaches('GET', `/devolucoes/${id}`) ? <a href={link(`/devolucoes/${id}`)}>{id}</a> : id,
  },
  { head: 'Quando', cell: ({ returned_at }: ReturnObject) => formatDateTime(returned_at, timezone) },
  { head: 'Venda', cell: ({ sale_id }: ReturnObject) => <a href={link(`/vendas/${sale_id}`)}>{`Venda ${sale_id}`}</a> },
  { head: 'Motivo', cell: ({ reason }: ReturnObject) => reason, isExtra: true },
  {
    head: 'Forma',
    cell: ({ refunds }: ReturnObject) => refunds.map(({ name, amount }) => `${name} ${formatMoney(amount)}`).join(', '),
    isExtra: true,
  },
  {
    head: 'Avisos',
    cell: ({ warnings }: ReturnObject) => warnings.length > 0 && <PanelBadge tone="warn">Confira</PanelBadge>,
  },
  { head: 'Valor', cell: ({ total }: ReturnObject) => formatMoney(total), isNumber: true },
]

async function list(visit: PageContext): Promise<PanelPage> {
  const { readModel, query, path } = visit
  const { pool, companyId, timezone } = readModel
  const { cursor } = query
  const asked = { limit: ROWS, timezone }
  const found = await listLatestReturns(pool, companyId, { ...asked, ...(cursor && { cursor }) })
  const page = isRefusal(found) ? await listLatestReturns(pool, companyId, asked) : found
  const next = isRefusal(page) ? null : page.next
  const body = (
    <Card title="Devoluções">
      <ListTable
        isList
        caption="Devoluções"
        rows={recordsOnPage<ReturnObject>(page)}
        empty="Nenhuma devolução."
        columns={columnsOf(timezone, visit)}
      />
      <Pager path={path} query={query} next={next} />
    </Card>
  )
  return { title: 'Devoluções', parent: { label: 'Vendas', to: '/vendas' }, body }
}

async function show(visit: PageContext): Promise<PanelPage | null> {
  const { timezone } = visit.readModel
  const found = await loadRecord<ReturnObject>(visit, ({ readModel }, id) =>
    getReturn(readModel.pool, readModel.companyId, id),
  )
  if (!found) return null
  const body = (
    <>
      <Card title="Dados">
        <Facts
          facts={[
            ['Venda', <a key="sale" href={link(`/vendas/${found.sale_id}`)}>{`Venda ${found.sale_id}`}</a>],
            ['Valor', formatMoney(found.total)],
            ['Devolvida em', formatDateTime(found.returned_at, timezone)],
            ['Registrada em', formatDateTime(found.created_at, timezone)],
            ['Motivo', found.reason],
            ['Entrega', found.delivery_fee === '0.00' ? null : formatMoney(found.delivery_fee)],
            ['Código externo', found.external_id],
            ['Identificação no caixa', found.offline_id],
            ['Sessão do caixa', found.cash_session_id],
            [
              'Crédito de troca para',
              found.credit_customer_id !== null && (
                <a key="credit" href={link(`/clientes/${found.credit_customer_id}`)}>
                  {`Cliente ${found.credit_customer_id}`}
                </a>
              ),
            ],
            ['Documento fiscal', found.fiscal_document?.access_key ?? found.fiscal_document?.number],
            [
              'Avisos',
              found.warnings.length > 0 && (
                <ul key="warnings" class="warnings">
                  {found.warnings.map(({ code }) => (
                    <li key={code}>{RETURN_WARNINGS[code]}</li>
                  ))}
                </ul>
              ),
            ],
          ]}
        />
      </Card>
      <Card title="Itens">
        <ListTable
          caption="Itens"
          rows={found.items}
          empty=""
          columns={[
            { head: 'Item', cell: ({ description }) => description },
            { head: 'Qtd.', cell: ({ quantity }) => formatQuantity(quantity), isNumber: true },
            { head: 'Estoque', cell: ({ restock }) => (restock ? 'Voltou' : 'Não voltou'), isExtra: true },
            { head: 'Valor', cell: ({ amount }) => formatMoney(amount), isNumber: true },
          ]}
        />
      </Card>
      <Card title="Formas de devolução">
        <ListTable
          caption="Formas"
          rows={found.refunds}
          empty="Não havia o que devolver em dinheiro."
          columns={[
            { head: 'Forma', cell: ({ name }) => name },
            { head: 'Valor', cell: ({ amount }) => formatMoney(amount), isNumber: true },
          ]}
        />
      </Card>
      {await History({ visit, subject: `return/${found.id}` })}
      <AsOfForm visit={visit} />
    </>
  )
  return { title: `Devolução ${found.id}`, parent: { label: 'Devoluções', to: '/devolucoes' }, body }
}

export const returnListPages: readonly PageRoute[] = [
  { path: '/devolucoes', section: 'sales', access: 'see_all_sales', asOf: true, show: list },
  { path: '/devolucoes/:id', section: 'sales', access: 'see_all_sales', asOf: true, show },
]

/** Returns of a sale; empty if it has none. */
export async function ReturnsOfSale({ visit, saleId }: { readonly visit: PageContext; readonly saleId: number }) {
  const { pool, companyId, timezone } = visit.readModel
  const page = await listLatestReturns(pool, companyId, { limit: ROWS, timezone, sale_id: saleId })
  const rows = recordsOnPage<ReturnObject>(page)
  return rows.length === 0 ? null : (
    <Card title="Devoluções">
      <ListTable caption="Devoluções" rows={rows} empty="" columns={columnsOf(timezone, visit)} />
    </Card>
  )
}

const MOVEMENTS = { return: 'Devolução', sale: 'Usado em venda', cancel: 'Venda cancelada' } as const

/** Store credit of a customer; empty if there never was any. */
export async function StoreCreditCard({ visit, id }: { readonly visit: PageContext; readonly id: number }) {
  const { pool, companyId, timezone } = visit.readModel
  const { credit } = await getCustomerCredit(pool, companyId, id)
  return credit.movements.length === 0 ? null : (
    <Card title="Crédito de troca">
      <Stats>
        <Stat label="Saldo" value={formatMoney(credit.balance)} />
      </Stats>
      <ListTable
        caption="Crédito de troca"
        rows={credit.movements.slice(0, 20)}
        empty=""
        columns={[
          { head: 'Quando', cell: ({ occurred_at }) => formatDateTime(occurred_at, timezone) },
          { head: 'Movimento', cell: ({ kind }) => MOVEMENTS[kind] },
          {
            head: 'Registro',
            cell: ({ document }) => <a href={link(subjectPath(document))}>{subjectName(document)}</a>,
            isExtra: true,
          },
          { head: 'Valor', cell: ({ amount }) => formatMoney(amount), isNumber: true },
          { head: 'Saldo', cell: ({ balance }) => formatMoney(balance), isNumber: true },
        ]}
      />
    </Card>
  )
}
