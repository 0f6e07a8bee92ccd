import * as z from 'zod'
import { fromBigCents, toBigCents } from '#domain/money.ts'
import { formatCount, formatDateTime, formatDay, formatMoney } from '#domain/person-values.ts'
import type { CreditMovementObject } from '#projections/store-credit.ts'
import {
  getVoucher,
  listVouchers,
  MAX_SUMMED_VOUCHERS,
  type ShownVoucher,
  sumVouchers,
  type VoucherObject,
} from '#queries/voucher-queries.ts'
import { wholeShape } from '#records/field.ts'
import { VOUCHER_FILTERS, type VoucherState } from '#records/list-filters.ts'
import { amountCell, listFile } from '../csv-files.ts'
import { lineInput } from '../forms/input-kinds.ts'
import { type Fields, fillFromBody } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { PageContext, PanelPage, PanelRoute } from '../panel-route.ts'
import { fieldInput } from '../record-fields.ts'
import { FieldList } from '../ui/form-fields.tsx'
import { ListTable } from '../ui/list-table.tsx'
import { Card, Facts, Figure, StateBadge, type StateMark } from '../ui/page-parts.tsx'
import { List, type ListRequest, listFiltered, readListPage } from '../ui/panel-list.tsx'
import { QrCode } from '../ui/shared-link.tsx'
import { subjectName, subjectPath } from '../words/event-words.ts'
import { loadCompany, ShopHead, toLogoOrigin } from './company-pages.tsx'

export const VOUCHERS_PATH = '/vales'
/** One voucher, found by its whole code: who has the paper may ask. */
export const VOUCHER_PATH = `${VOUCHERS_PATH}/consulta`
const PRINT_PATH = `${VOUCHER_PATH}/imprimir`

const NAMES = VOUCHER_FILTERS.state.names
const STATES: Readonly<Record<VoucherState, StateMark>> = {
  open: ['good', NAMES.open],
  used: ['plain', NAMES.used],
  expired: ['warn', NAMES.expired],
  exceeded: ['bad', NAMES.exceeded],
  undone: ['plain', NAMES.undone],
}

const FILTERS: Fields = {
  q: fieldInput(VOUCHER_FILTERS.q, 4),
  state: fieldInput(VOUCHER_FILTERS.state, 4),
  given_from: fieldInput(VOUCHER_FILTERS.given_from, 2),
  given_to: fieldInput(VOUCHER_FILTERS.given_to, 2),
}

const Filtered = z.object(wholeShape(VOUCHER_FILTERS))
const Search = Filtered.extend({ cursor: z.string().max(2_000).optional() })

const page = ({ readModel }: PageContext, asked: Readonly<Record<string, string>>, { limit }: ListRequest) =>
  listFiltered(Search, asked, (search) => listVouchers(readModel.reader, { ...search, limit }, readModel))

async function summaryOf({ readModel }: PageContext, asked: Readonly<Record<string, string>>) {
  const { count, amount } = await sumVouchers(readModel.reader, Filtered.parse(asked), readModel)
  if (count > MAX_SUMMED_VOUCHERS) return <p class="sums">{`Mais de ${formatCount(MAX_SUMMED_VOUCHERS)} vales`}</p>
  return (
    <p class="sums">
      <Figure name="vales" of="total">
        {formatCount(count)}
      </Figure>
      {count === 1 ? ' vale, resta ' : ' vales, restam '}
      <strong>
        <Figure name="vales_restam" of="total">
          {formatMoney(amount)}
        </Figure>
      </strong>
    </p>
  )
}

async function list(visit: PageContext): Promise<PanelPage> {
  const { timezone } = visit.readModel
  const found = await readListPage<VoucherObject>(visit, FILTERS, page, summaryOf)
  const body = (
    <List
      visit={visit}
      filters={FILTERS}
      list={found}
      caption="Vales-troca"
      empty="Nenhum vale-troca encontrado."
      begin={{
        title: 'Nenhum vale-troca ainda',
        text: 'Uma devolução dá um vale quando o crédito não é de um cliente.',
        action: { label: 'Escolher a venda', to: '/vendas' },
      }}
      quick={(['open', 'expired', 'exceeded'] as const).map((state) => ({ label: NAMES[state], filters: { state } }))}
      file={`${VOUCHERS_PATH}.csv`}
      columns={[
        { head: 'Código', cell: ({ voucher }) => <a href={link(VOUCHER_PATH, { codigo: voucher })}>{voucher}</a> },
        { head: 'Situação', cell: ({ state }) => <StateBadge state={STATES[state]} /> },
        {
          head: 'Devolução',
          cell: ({ return_id }) => return_id && <a href={link(`/devolucoes/${return_id}`)}>{return_id}</a>,
          isExtra: true,
        },
        { head: 'Dado em', cell: ({ issued_at }) => issued_at && formatDateTime(issued_at, timezone), isExtra: true },
        { head: 'Válido até', cell: ({ valid_until }) => valid_until && formatDay(valid_until), isExtra: true },
        { head: 'Valor', cell: ({ value }) => formatMoney(value), isNumber: true },
        { head: 'Resta', cell: ({ left }) => formatMoney(left), isNumber: true },
      ]}
    />
  )
  return { title: 'Vales-troca', parent: { label: 'Vendas', to: '/vendas' }, body }
}

const file = listFile<VoucherObject>({
  path: VOUCHERS_PATH,
  section: 'sales',
  filters: FILTERS,
  columns: ({ readModel: { timezone } }) => [
    ['Código', ({ voucher }) => voucher],
    ['Situação', ({ state }) => NAMES[state]],
    ['Devolução', ({ return_id }) => return_id],
    ['Dado em', ({ issued_at }) => issued_at && formatDateTime(issued_at, timezone)],
    ['Válido até', ({ valid_until }) => valid_until && formatDay(valid_until)],
    ['Valor', ({ value }) => amountCell(value)],
    ['Usado', ({ value, left }) => amountCell(fromBigCents(toBigCents(value) - toBigCents(left)))],
    ['Resta', ({ left }) => amountCell(left)],
  ],
  page,
})

interface MovementsProps {
  readonly visit: PageContext
  readonly movements: readonly CreditMovementObject[]
}

const MOVEMENTS = {
  return: 'Devolução',
  sale: 'Usado em venda',
  cancel: 'Venda cancelada',
  surplus: 'Pago a mais em cobrança',
} as const

/** Movements of store credit, of a customer or a voucher. */
export const CreditMovements = ({ visit: { reaches, readModel }, movements }: MovementsProps) => (
  <ListTable
    caption="Crédito de troca"
    rows={movements}
    empty=""
    columns={[
      { head: 'Quando', cell: ({ occurred_at }) => formatDateTime(occurred_at, readModel.timezone) },
      { head: 'Movimento', cell: ({ kind }) => MOVEMENTS[kind] },
      {
        head: 'Registro',
        cell: ({ document }) =>
          reaches('GET', subjectPath(document)) ? (
            <a href={link(subjectPath(document))}>{subjectName(document)}</a>
          ) : (
            subjectName(document)
          ),
        isExtra: true,
      },
      { head: 'Valor', cell: ({ amount }) => formatMoney(amount), isNumber: true },
      { head: 'Saldo', cell: ({ balance }) => formatMoney(balance), isNumber: true },
    ]}
  />
)

const CODE: Fields = {
  codigo: { label: 'Código do vale', kind: lineInput, isRequired: true, columns: 8, hint: 'O que está no papel.' },
}

const codeIn = ({ query }: PageContext): string | undefined => VOUCHER_FILTERS.q.answer.safeParse(query.codigo).data

/** As it is, else in capitals, as vouchers are printed. */
async function findTyped({ readModel }: PageContext, typed: string): Promise<ShownVoucher | null> {
  const found = await getVoucher(readModel.reader, typed, readModel)
  return found ?? getVoucher(readModel.reader, typed.toUpperCase(), readModel)
}

const stateOf = ({ state, valid_until }: VoucherObject) => (
  <>
    <StateBadge state={STATES[state]} />
    {valid_until && `, ${state === 'expired' ? 'valeu' : 'vale'} até ${formatDay(valid_until)}`}
  </>
)

const VoucherCard = ({ visit, found }: { readonly visit: PageContext; readonly found: ShownVoucher }) => (
  <>
    <Card title={`Vale-troca ${found.voucher}`}>
      <Facts
        facts={[
          ['Situação', stateOf(found)],
          ['Resta', formatMoney(found.left)],
          ['Valor', formatMoney(found.value)],
          ['Dado em', found.issued_at && formatDateTime(found.issued_at, visit.readModel.timezone)],
          [
            'Devolução',
            found.return_id !== null && visit.reaches('GET', `/devolucoes/${found.return_id}`) && (
              <a key="return" href={link(`/devolucoes/${found.return_id}`)}>{`Devolução ${found.return_id}`}</a>
            ),
          ],
        ]}
      />
    </Card>
    {found.movements.length > 0 && (
      <Card title="Usos">
        <CreditMovements visit={visit} movements={found.movements} />
      </Card>
    )}
  </>
)

async function show(visit: PageContext): Promise<PanelPage> {
  const code = codeIn(visit)
  const found = code === undefined ? null : await findTyped(visit, code)
  const isMissing = visit.query.codigo !== undefined && found === null
  const isAll = visit.reaches('GET', VOUCHERS_PATH)
  const body = (
    <>
      <Card title="Código">
        <search aria-label="Conferir vale-troca">
          <form method="get" action={link(VOUCHER_PATH)} class="form">
            <FieldList fields={CODE} filled={fillFromBody(CODE, visit.query)} />
            <div class="actions">
              <button type="submit">Conferir</button>
            </div>
          </form>
        </search>
      </Card>
      {isMissing && <p class="empty">Nenhum vale-troca com este código.</p>}
      {found && <VoucherCard visit={visit} found={found} />}
    </>
  )
  return {
    title: 'Conferir vale-troca',
    parent: isAll ? { label: 'Vales-troca', to: VOUCHERS_PATH } : { label: 'Vendas', to: '/vendas' },
    ...(found &&
      toBigCents(found.left) > 0n && {
        main: { label: 'Imprimir o vale', to: PRINT_PATH, parameters: { codigo: found.voucher } },
      }),
    body,
  }
}

/** The paper, as tills print it; none of a voucher with nothing left. */
async function print(visit: PageContext): Promise<PanelPage | null> {
  const code = codeIn(visit)
  const found = code === undefined ? null : await findTyped(visit, code)
  if (found === null || toBigCents(found.left) <= 0n) return null
  const company = await loadCompany(visit)
  const body = (
    <div class="receipt">
      {company && <ShopHead company={company} />}
      <p class="brand">{`Vale-troca de ${formatMoney(found.left)}`}</p>
      <section class="proof" aria-label="Vale-troca">
        {await QrCode({ of: found.voucher, label: 'Código do vale' })}
        <div>
          <p class="brand">{found.voucher}</p>
          {found.valid_until && <p>{`Válido até ${formatDay(found.valid_until)}.`}</p>}
          <p class="note">Vale como pagamento nesta loja. Guarde este papel. Sem valor fiscal.</p>
        </div>
      </section>
    </div>
  )
  return {
    title: `Vale-troca ${found.voucher}`,
    parent: { label: 'Conferir vale-troca', to: VOUCHER_PATH },
    main: { label: 'Imprimir', to: visit.path, prints: true },
    imageOrigin: toLogoOrigin(company),
    body,
  }
}

export const voucherPages: readonly PanelRoute[] = [
  { path: VOUCHERS_PATH, section: 'sales', access: 'see_all_sales', show: list },
  { ...file, access: 'see_all_sales' },
  { path: VOUCHER_PATH, section: 'sales', show },
  // Who has the paper has the money.
  { path: PRINT_PATH, section: 'sales', access: 'sell', changes: true, show: print },
]
