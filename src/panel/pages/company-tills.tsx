import QRCode from 'qrcode'
import * as z from 'zod'
import { endTill, GivenUp, giveUpElements, readPrintedSale, recoverSale } from '#commands/till-commands.ts'
import { formatCount, formatDateTime, formatDateTimeSeconds, formatMoney } from '#domain/person-values.ts'
import { MAX_RECEIPT_TEXT } from '#domain/receipt-code.ts'
import { limitedText } from '#domain/text.ts'
import { pathId } from '#http/paths.ts'
import { isRefusal } from '#ledger/command.ts'
import type { NumberRange } from '#projections/tills.ts'
import { findUnits, type UnitsOfItems } from '#queries/item-queries.ts'
import { listRefusedSales, listUploads, type RefusedSale, type UploadedSale } from '#queries/offline-sale-queries.ts'
import { type CompanyTill, listTills } from '#queries/till-queries.ts'
import { amountCell, listFile } from '../csv-files.ts'
import { choiceInput, lineInput } from '../forms/input-kinds.ts'
import { type Fields, reasonField } from '../forms/panel-form.ts'
import { link, TILL_PATH } from '../page-context.ts'
import type { PageContext, PanelPage, PanelRoute } from '../panel-route.ts'
import { namesOfActors } from '../record-history.tsx'
import { formPages } from '../ui/form-pages.tsx'
import { type Column, ListTable } from '../ui/list-table.tsx'
import { Card, PanelBadge, ShortId } from '../ui/page-parts.tsx'
import { List, type ListRequest, readListPage } from '../ui/panel-list.tsx'
import { rangesText } from '../words/event-words.ts'
import { OpenCashSessions } from './cash-session-pages.tsx'
import { refusedColumns } from './refused-sale-pages.tsx'
import { RefusedMovements, RefusedReturns, seesRefusedMovements, seesRefusedReturns } from './refused-upload-pages.tsx'
import { SALE_STATES, SaleBadge } from './sale-list.tsx'
import { CLOSING, TillsToday } from './tills-closing.tsx'
import { Warnings } from './uploaded-sale-pages.tsx'

const PATH = '/caixas/aparelhos'
const RECOVER = '/caixas/recuperar'
const OPEN = '/caixas/abrir'
const TILLS = { label: 'Caixas', to: '/caixas' }

/** Gaps shown of each till; a hostile client could make a thousand. */
const SHOWN_GAPS = 20

/** A gap in words: what came before and after it, and what did not. */
export function gapText({ number, last_number, missing }: CompanyTill, [from, to]: NumberRange): string {
  const before = from > 1 ? from - 1 : null
  const after = missing.some(([, end]) => end > to) || to < last_number ? to + 1 : null
  const came = [before, after].filter((each) => each !== null)
  const lost = `${from === to ? 'a' : 'as'} ${rangesText([[from, to]])}`
  if (came.length === 0)
    return `Caixa ${number}: ${lost.replace(' ', from === to ? ' venda ' : ' vendas ')} não ${from === to ? 'chegou' : 'chegaram'}`
  const known = came.length === 1 ? `a venda ${came[0]} chegou` : `as vendas ${came[0]} e ${came[1]} chegaram`
  return `Caixa ${number}: ${known}, ${lost} não`
}

/** Tills of which something is missing. */
export const tillsWithGaps = async ({ readModel }: PageContext): Promise<CompanyTill[]> =>
  (await listTills(readModel.reader)).filter(({ missing }) => missing.length > 0)

/** The gaps of a till in one sentence each. */
export const gapTexts = (till: CompanyTill): string[] =>
  till.missing.slice(0, SHOWN_GAPS).map((gap) => gapText(till, gap))

const Gaps = ({ till, visit }: { readonly till: CompanyTill; readonly visit: PageContext }) =>
  till.missing.length === 0 ? null : (
    <ul class="warnings">
      {till.missing.slice(0, SHOWN_GAPS).map((gap) => {
        const to = `${PATH}/${till.id}/perdidas/${gap[0]}/${gap[1]}`
        return (
          <li key={gap[0]}>
            {gapText(till, gap)}.{' '}
            {visit.reaches('POST', to) && <a href={link(to)}>Dar por {gap[0] === gap[1] ? 'perdida' : 'perdidas'}</a>}
          </li>
        )
      })}
    </ul>
  )

/** Tills that number and sign what they record, with what has not come. */
async function CompanyTills({ visit }: { readonly visit: PageContext }) {
  const { reader, timezone } = visit.readModel
  const tills = await listTills(reader)
  return (
    <Card
      title="Aparelhos"
      aside={
        <>
          <a href={link(OPEN)}>Abrir um caixa</a>
          {visit.reaches('POST', RECOVER) && <a href={link(RECOVER)}>Recuperar venda pelo cupom</a>}
        </>
      }
    >
      <ListTable
        isList
        caption="Aparelhos"
        rows={tills}
        empty="Nenhum caixa aberto ainda."
        columns={[
          { head: 'Caixa', cell: ({ number, name }) => `${number} · ${name}` },
          {
            head: 'Último contato',
            cell: ({ last_seen_at }) => (last_seen_at === null ? 'Nenhum' : formatDateTime(last_seen_at, timezone)),
          },
          { head: 'Último número', cell: ({ last_number }) => formatCount(last_number), isNumber: true, isExtra: true },
          { head: 'Faltam', cell: (till) => <Gaps till={till} visit={visit} /> },
          {
            head: '',
            cell: ({ id, ended_at }) =>
              ended_at !== null ? (
                <PanelBadge tone="plain">Encerrado</PanelBadge>
              ) : (
                visit.reaches('POST', `${PATH}/${id}/encerrar`) && (
                  <a href={link(`${PATH}/${id}/encerrar`)}>Encerrar caixa</a>
                )
              ),
          },
        ]}
      />
    </Card>
  )
}

async function tillOf({ readModel, params }: PageContext): Promise<CompanyTill | null> {
  const id = pathId(params.id)
  return (await listTills(readModel.reader)).find((till) => till.id === id) ?? null
}

const titleOf = ({ number, name }: CompanyTill) => `Caixa ${number} · ${name}`

async function gapOf(visit: PageContext) {
  const till = await tillOf(visit)
  const [from, to] = [pathId(visit.params.from), pathId(visit.params.to)]
  return till && from !== null && to !== null && from <= to ? { till, gap: [from, to] as const } : null
}

async function showOpening({ context }: PageContext): Promise<PanelPage> {
  const address = `${context.environment.publicUrl}${TILL_PATH}`
  const image = await QRCode.toString(address, { type: 'svg', margin: 2 })
  const body = (
    <>
      <Card title="Neste aparelho">
        <p>O caixa abre no navegador e vende também sem conexão. Entre com o seu e-mail e a sua senha.</p>
        <p>
          <a class="button main" href={TILL_PATH}>
            Abrir o caixa aqui
          </a>
        </p>
      </Card>
      <Card title="Em outro aparelho">
        <p>Leia o QR Code com a câmera do outro aparelho, ou digite o endereço nele:</p>
        <div class="qr" role="img" aria-label="QR Code do caixa" dangerouslySetInnerHTML={{ __html: image }} />
        <p>
          <code>{address}</code>
        </p>
      </Card>
    </>
  )
  return { title: 'Abrir um caixa', parent: TILLS, body }
}

const ReceiptCode = z.object({
  code: limitedText(MAX_RECEIPT_TEXT, 'não é o código de um cupom').min(1, 'leia o código do cupom'),
})

export const companyTillPages: readonly PanelRoute[] = [
  { path: OPEN, section: 'tills', show: showOpening },
  ...formPages({
    section: 'tills',
    access: 'sell',
    path: RECOVER,
    subject: () => ({}),
    title: () => 'Recuperar venda pelo cupom',
    label: 'Recuperar venda',
    back: () => '/caixas',
    intro: () => (
      <p>
        Para uma venda que não chegou do caixa: leia com o leitor o QR Code impresso no cupom. Um cupom grande tem mais
        de um código: leia todos no mesmo campo.
      </p>
    ),
    fields: () => ({ code: { label: 'Código do cupom', kind: lineInput, isRequired: true, columns: 12 } }),
    schema: ReceiptCode,
    async act(submission, _subject, { code }) {
      const printed = readPrintedSale(code)
      if (isRefusal(printed)) return printed
      const answer = await submission.run(recoverSale, printed)
      if (isRefusal(answer)) return answer
      const { id } = answer.record as { id: number }
      return { to: `/vendas/${id}`, flash: answer.outcome === 'unchanged' ? 'venda-ja-registrada' : 'venda-recuperada' }
    },
  }),
  ...formPages({
    section: 'tills',
    access: 'manage_company',
    path: `${PATH}/:id/encerrar`,
    subject: tillOf,
    title: titleOf,
    label: 'Encerrar caixa',
    isDangerous: true,
    back: () => '/caixas',
    obstacle: ({ ended_at }) => (ended_at === null ? null : 'Este caixa já foi encerrado.'),
    intro: () => (
      <p>
        O aparelho sai na hora e não volta a ser este caixa. As vendas que ainda estiverem nele chegam com aviso quando
        alguém entrar. Esta ação não pode ser desfeita.
      </p>
    ),
    fields: () => ({}),
    schema: z.object({}),
    async act(submission, { id }) {
      const answer = await submission.run(endTill, { id })
      return isRefusal(answer) ? answer : { to: '/caixas', flash: 'caixa-encerrado' }
    },
  }),
  ...formPages({
    section: 'tills',
    access: ['see_all_sales', 'cancel_all'],
    path: `${PATH}/:id/perdidas/:from/:to`,
    subject: gapOf,
    title: ({ till }) => titleOf(till),
    label: 'Dar por perdida',
    isDangerous: true,
    back: () => '/caixas',
    intro: ({ till, gap: [from, to] }) => (
      <p>
        {`${gapText(till, [from, to])}. `}Deixa de faltar e fica no histórico. Se chegar depois, é registrada mesmo
        assim.
      </p>
    ),
    fields: () => ({ reason: reasonField('Fica na auditoria.') }),
    schema: GivenUp,
    async act(submission, { till: { id }, gap: [from, to] }, { reason }) {
      const answer = await submission.run(giveUpElements, { id, from, to, reason })
      return isRefusal(answer) ? answer : { to: '/caixas', flash: 'dada-por-perdida' }
    },
  }),
]

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
  const units = await findUnits(
    reader,
    list.rows.flatMap(({ sale }) => sale.items),
  )
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
        columns={uploadColumns(timezone, names, units)}
        empty="Nenhuma venda enviada."
        begin={{
          title: 'Nenhuma venda enviada ainda',
          text: 'Aqui ficam as vendas que os caixas enviam, com avisos do que conferir.',
        }}
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

const uploadColumns = (
  timezone: string,
  names: (actor: string | null) => string,
  units: UnitsOfItems,
): Column<UploadedSale>[] => [
  { head: 'Venda', cell: ({ sale }) => <a href={link(`/vendas/${sale.id}`)}>{sale.id}</a> },
  { head: 'Recebida em', cell: ({ recorded_at }) => formatDateTime(recorded_at, timezone) },
  { head: 'Enviada por', cell: ({ actor }) => names(actor), isExtra: true },
  { head: 'No caixa', cell: ({ offline_id }) => offline_id && <ShortId id={offline_id} />, isExtra: true },
  { head: 'Situação', cell: ({ sale }) => <SaleBadge status={sale.status} />, isExtra: true },
  { head: 'Total', cell: ({ sale }) => formatMoney(sale.total), isNumber: true },
  {
    head: 'Avisos',
    cell: (upload) => <Warnings sale={upload.sale} upload={upload} units={units} timezone={timezone} />,
  },
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
