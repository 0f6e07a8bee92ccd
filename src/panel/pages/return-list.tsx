import * as z from 'zod'
import { addDays } from '#domain/instant.ts'
import { formatCount, formatDateTime, formatMoney, formatUnits } from '#domain/person-values.ts'
import type { OfflineReturnWarning, ReturnObject } from '#projections/returns.ts'
import { findUnits, unitIn } from '#queries/item-queries.ts'
import {
  type GivenBack,
  getCustomerCredit,
  getReturn,
  listGivenBack,
  listLatestReturns,
  MAX_SUMMED_RETURNS,
  sumGivenBack,
} from '#queries/return-queries.ts'
import { pickFields, wholeShape } from '#records/field.ts'
import { RETURN_FILTERS } from '#records/list-filters.ts'
import type { Fields } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { PageContext, PageRoute, PanelPage } from '../panel-route.ts'
import { fieldInput } from '../record-fields.ts'
import { AsOfForm, History } from '../record-history.tsx'
import { TimeMachine } from '../time-machine.tsx'
import { type Column, ListTable } from '../ui/list-table.tsx'
import { ButtonLink, Card, Facts, Figure, PanelBadge, Stat, Stats } from '../ui/page-parts.tsx'
import { List, type ListRequest, listFiltered, readListPage, recordsOnPage } from '../ui/panel-list.tsx'
import { loadRecord } from '../ui/record-pages.tsx'
import { ORDERS_PATH } from './order-lists.tsx'
import { CreditMovements, VOUCHER_PATH } from './voucher-pages.tsx'

const ROWS = 50

const RETURN_WARNINGS: Readonly<Record<OfflineReturnWarning['code'], string>> = {
  refund_differs: 'Foi devolvido menos do que é devido',
  receivable_open: 'Ainda há conta a receber desta venda em aberto',
  credit_without_customer: 'Crédito de troca sem cliente: ninguém recebeu o saldo',
  session_of_other: 'O dinheiro saiu da gaveta de outro usuário',
  returned_at_in_future: 'O relógio do caixa estava adiantado',
  at_old: 'O relógio do caixa estava atrasado',
  till_signature: 'A assinatura do caixa não confere',
  till_chain: 'A sequência do caixa está interrompida antes ou depois deste registro',
  till_number: 'O número já foi usado por outro registro deste caixa',
}

const waysText = ({ refunds }: Pick<ReturnObject, 'refunds'>, sign = ''): string =>
  refunds.map(({ name, amount }) => `${name} ${formatMoney(sign + amount)}`).join(', ')

const ReturnMark = () => <PanelBadge tone="warn">Confira</PanelBadge>

const columnsOf = (timezone: string, { reaches }: PageContext): Column<ReturnObject>[] => [
  {
    head: 'Devolução',
    cell: ({ id }: ReturnObject) =>
      reaches('GET', `/devolucoes/${id}`) ? <a href={link(`/devolucoes/${id}`)}>{id}</a> : id,
  },
  { head: 'Quando', cell: ({ returned_at }: ReturnObject) => formatDateTime(returned_at, timezone) },
  { head: 'Motivo', cell: ({ reason }: ReturnObject) => reason, isExtra: true },
  {
    head: 'Forma',
    cell: (returned) => waysText(returned),
    isExtra: true,
  },
  {
    head: 'Avisos',
    cell: ({ warnings, reversed_at }: ReturnObject) =>
      reversed_at === null ? warnings.length > 0 && <ReturnMark /> : <PanelBadge tone="plain">Desfeita</PanelBadge>,
  },
  { head: 'Valor', cell: ({ total }: ReturnObject) => formatMoney(total), isNumber: true },
]

const DAYS = pickFields(RETURN_FILTERS, 'returned_from', 'returned_to')

const FILTERS: Fields = {
  returned_from: fieldInput(DAYS.returned_from, 4),
  returned_to: fieldInput(DAYS.returned_to, 4),
}

const Search = z.object({ ...wholeShape(DAYS), cursor: z.string().max(2_000).optional() })

const pageOf = ({ readModel }: PageContext, asked: Readonly<Record<string, string>>, { limit }: ListRequest) =>
  listFiltered(Search, asked, (search) =>
    listGivenBack(readModel.reader, { ...search, limit, timezone: readModel.timezone }),
  )

async function summaryOf({ readModel }: PageContext, asked: Readonly<Record<string, string>>) {
  const { reader, timezone } = readModel
  const { cursor: _, ...days } = Search.parse(asked)
  const { count, amount, listed } = await sumGivenBack(reader, { ...days, timezone })
  if (listed > MAX_SUMMED_RETURNS) return <p class="sums">{`Mais de ${formatCount(MAX_SUMMED_RETURNS)} devoluções`}</p>
  return (
    <p class="sums">
      <Figure name="devolucoes" of="total">
        {formatCount(count)}
      </Figure>
      {count === 1 ? ' devolução, ' : ' devoluções, '}
      <strong>
        <Figure name="devolvido" of="total">
          {formatMoney(amount)}
        </Figure>
      </strong>
    </p>
  )
}

function reasonOf({ return: returned, is_reversal, amount }: GivenBack): string {
  if (returned) return is_reversal ? `Devolução desfeita: ${returned.reversal_reason}` : returned.reason
  return amount.startsWith('-') ? 'Estorno desfeito' : 'Estorno do pedido'
}

const givenBackColumns = (timezone: string): Column<GivenBack>[] => [
  {
    head: 'Devolução',
    cell: ({ return: returned, order_id }) =>
      returned ? (
        <a href={link(`/devolucoes/${returned.id}`)}>{returned.id}</a>
      ) : (
        <a href={link(`${ORDERS_PATH}/${order_id}`)}>{`Pedido ${order_id}`}</a>
      ),
  },
  { head: 'Quando', cell: ({ returned_at }) => formatDateTime(returned_at, timezone) },
  { head: 'Venda', cell: ({ sale_id }) => <a href={link(`/vendas/${sale_id}`)}>{`Venda ${sale_id}`}</a> },
  {
    head: 'Motivo',
    cell: reasonOf,
    isExtra: true,
  },
  {
    head: 'Forma',
    cell: ({ return: returned, is_reversal }) => returned && waysText(returned, is_reversal ? '-' : ''),
    isExtra: true,
  },
  {
    head: 'Avisos',
    cell: ({ return: returned }) => returned !== null && returned.warnings.length > 0 && <ReturnMark />,
  },
  { head: 'Valor', cell: ({ amount }) => formatMoney(amount), isNumber: true },
]

/** All that went back to buyers, as the sums of sales count it. */
async function list(visit: PageContext): Promise<PanelPage> {
  const { today } = visit.readModel
  const found = await readListPage<GivenBack>(visit, FILTERS, pageOf, summaryOf)
  const days = (label: string, from: string) => ({ label, filters: { returned_from: from, returned_to: today } })
  const body = (
    <List
      visit={visit}
      filters={FILTERS}
      list={found}
      caption="Devoluções"
      columns={givenBackColumns(visit.readModel.timezone)}
      empty="Nenhuma devolução."
      begin={{
        title: 'Nenhuma devolução ainda',
        text: 'Aqui ficam as devoluções e trocas: comece pela venda.',
        action: { label: 'Escolher a venda', to: '/vendas' },
      }}
      quick={[days('Hoje', today), days('7 dias', addDays(today, -6)), days('30 dias', addDays(today, -29))]}
    />
  )
  return { title: 'Devoluções', parent: { label: 'Vendas', to: '/vendas' }, body }
}

async function show(visit: PageContext): Promise<PanelPage | null> {
  const { timezone } = visit.readModel
  const found = await loadRecord<ReturnObject>(visit, ({ readModel }, id) => getReturn(readModel.reader, id))
  if (!found) return null
  const units = await findUnits(visit.readModel.reader, found.items)
  const steps = { visit, subject: `return/${found.id}` }
  const body = (
    <>
      {await TimeMachine(steps)}
      <Card title="Dados">
        <Facts
          facts={[
            ['Venda', <a key="sale" href={link(`/vendas/${found.sale_id}`)}>{`Venda ${found.sale_id}`}</a>],
            ['Valor', formatMoney(found.total)],
            ['Devolvida em', formatDateTime(found.returned_at, timezone)],
            ['Registrada em', formatDateTime(found.created_at, timezone)],
            ['Motivo', found.reason],
            ['Desfeita em', found.reversed_at && formatDateTime(found.reversed_at, timezone)],
            ['Por que foi desfeita', found.reversal_reason],
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
            { head: 'Qtd.', cell: (item) => formatUnits(item.quantity, unitIn(units, item)), isNumber: true },
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
            {
              head: 'Vale-troca',
              cell: ({ voucher }) =>
                voucher !== undefined && <a href={link(VOUCHER_PATH, { codigo: voucher })}>{voucher}</a>,
              isExtra: true,
            },
            { head: 'Valor', cell: ({ amount }) => formatMoney(amount), isNumber: true },
          ]}
        />
      </Card>
      {found.reversed_at === null && visit.reaches('POST', `/devolucoes/${found.id}/desfazer`) && (
        <div class="actions">
          <ButtonLink to={`/devolucoes/${found.id}/desfazer`}>Desfazer devolução</ButtonLink>
        </div>
      )}
      {await History(steps)}
      <AsOfForm visit={visit} />
    </>
  )
  return { title: `Devolução ${found.id}`, parent: { label: 'Devoluções', to: '/devolucoes' }, body }
}

export const returnListPages: readonly PageRoute[] = [
  { path: '/devolucoes', section: 'sales', access: 'see_all_sales', asOf: true, show: list },
  { path: '/devolucoes/:id', section: 'sales', access: 'see_all_sales', asOf: true, show },
]

/** Returns of a sale, latest first. */
export async function loadSaleReturns({ readModel }: PageContext, saleId: number): Promise<readonly ReturnObject[]> {
  const { reader, timezone } = readModel
  return recordsOnPage(await listLatestReturns(reader, { limit: ROWS, timezone, sale_id: saleId }))
}

interface ReturnsProps {
  readonly visit: PageContext
  readonly returns: readonly ReturnObject[]
}

/** Returns of a sale; empty if it has none. */
export const ReturnsCard = ({ visit, returns }: ReturnsProps) =>
  returns.length === 0 ? null : (
    <Card title="Devoluções">
      <ListTable caption="Devoluções" rows={returns} empty="" columns={columnsOf(visit.readModel.timezone, visit)} />
    </Card>
  )

/** Store credit of a customer; empty if there never was any. */
export async function StoreCreditCard({ visit, id }: { readonly visit: PageContext; readonly id: number }) {
  const { credit } = await getCustomerCredit(visit.readModel.reader, id)
  return credit.movements.length === 0 ? null : (
    <Card title="Crédito de troca">
      <Stats>
        <Stat label="Saldo" value={formatMoney(credit.balance)} />
      </Stats>
      <CreditMovements visit={visit} movements={credit.movements.slice(0, 20)} />
    </Card>
  )
}
