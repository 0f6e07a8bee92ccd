import { pathId } from '#http/paths.ts'
import { statusOf } from '#http/problems.ts'
import { ResolutionNote, resolveRefusedSale } from '#offline-sales/refused-sales.ts'
import {
  findNamesForTill,
  getRefusedSale,
  listRefusedSales,
  listResolvedSales,
  type RefusedSale,
  type RefusedSaleDetails,
  type RefusedSaleRecord,
} from '#queries/sales/offline-sales.ts'
import { dateTime } from '../../format.ts'
import { type Fields, type Filled, filledWith } from '../../forms/form.ts'
import { paragraph } from '../../forms/kinds.ts'
import { link } from '../../link.ts'
import type { Page, PanelRoute, Redirect, Submission, Visit } from '../../route.ts'
import { Form } from '../../ui/form.tsx'
import { formRoute } from '../../ui/form-pages.tsx'
import { type Column, Pager, Table } from '../../ui/list.tsx'
import { Actions, Badge, ButtonLink, Card, type Fact, Facts } from '../../ui/parts.tsx'
import { idsIn, reasonOf, reasonsIn, Uploaded } from './uploaded-sale.tsx'

const PATH = '/caixas/recusadas'
const RESOLVED_PATH = `${PATH}/resolvidas`

/** Of a page. One more is read, to know whether there is a next page. */
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

/** Who resolved it: a person, or the till that sent it corrected. */
const resolverOf = ({ settled_by }: RefusedSaleRecord): string =>
  settled_by ? (settled_by.name ?? `usuário ${settled_by.id}`) : 'o caixa, que enviou a venda corrigida'

const resolvedColumns = (timezone: string): Column<RefusedSaleRecord>[] => [
  ...refusedColumns(timezone).filter(({ head }) => head !== 'Vezes'),
  { head: 'Resolvida em', cell: ({ settled_at }) => settled_at && dateTime(settled_at, timezone) },
  { head: 'Por', cell: resolverOf },
]

async function showOpen({ readModel, query }: Visit): Promise<Page> {
  const after = pathId(query.cursor ?? '') ?? 0
  const { total, sales } = await listRefusedSales(readModel.pool, readModel.companyId, { after, limit: SHOWN + 1 })
  const body = (
    <>
      <Actions>
        <ButtonLink to={RESOLVED_PATH}>Resolvidas</ButtonLink>
        <ButtonLink to="/caixas">Voltar</ButtonLink>
      </Actions>
      <p class="hint">À espera de alguém que as resolva: {total}. As mais antigas vêm primeiro.</p>
      <Listed path={PATH} query={query} columns={refusedColumns(readModel.timezone)} found={sales} />
    </>
  )
  return { title: 'Vendas recusadas', body }
}

async function showResolved({ readModel, query }: Visit): Promise<Page> {
  const before = pathId(query.cursor ?? '') ?? undefined
  const sales = await listResolvedSales(readModel.pool, readModel.companyId, { before, limit: SHOWN + 1 })
  const body = (
    <>
      <Actions>
        <ButtonLink to="/caixas">Voltar</ButtonLink>
      </Actions>
      <p class="hint">Ficam aqui por 90 dias depois de resolvidas.</p>
      <Listed path={RESOLVED_PATH} query={query} columns={resolvedColumns(readModel.timezone)} found={sales} />
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

async function refusedSaleOf({ readModel, params }: Visit): Promise<RefusedSaleDetails | null> {
  const id = pathId(params.id)
  return id === null ? null : getRefusedSale(readModel.pool, readModel.companyId, id)
}

async function showOne(visit: Visit, filled?: Filled): Promise<Page | null> {
  const sale = await refusedSaleOf(visit)
  if (!sale) return null
  const { pool, companyId, timezone } = visit.readModel
  const names = await findNamesForTill(pool, companyId, idsIn(sale.payload))
  const body = (
    <>
      <Reasons sale={sale} />
      <Card title="Venda como foi enviada">
        {sale.sent === null ? (
          <p>Era grande demais para ser guardada.</p>
        ) : (
          <>
            <Uploaded payload={sale.payload} names={names} timezone={timezone} />
            <details>
              <summary>Texto enviado (JSON)</summary>
              <pre class="wrapped">{sale.sent}</pre>
            </details>
          </>
        )}
      </Card>
      <Card title="Envio">
        <Facts facts={factsOf(sale, timezone)} />
      </Card>
      {sale.settled_at === null && <Resolving visit={visit} id={sale.id} filled={filled} />}
    </>
  )
  return { title: `Venda recusada: ${sale.offline_id || 'sem identificação'}`, body }
}

/** Why it was refused, field by field, in words. */
const Reasons = ({ sale: { errors, sale_id } }: { readonly sale: RefusedSaleDetails }) => (
  <Card title="Por que foi recusada">
    <ul>
      {reasonsIn(errors).map((reason) => (
        <li key={reason}>{reason}</li>
      ))}
    </ul>
    {sale_id !== null && (
      <p>
        Com esta identificação está registrada a <a href={link(`/vendas/${sale_id}`)}>venda {sale_id}</a>.
      </p>
    )}
  </Card>
)

const factsOf = (sale: RefusedSaleDetails, timezone: string): readonly Fact[] => [
  ['Situação', sale.settled_at ? <Badge tone="good">Resolvida</Badge> : <Badge tone="warn">À espera</Badge>],
  ['Enviada por', sale.user.name],
  ['Recusada pela primeira vez', dateTime(sale.first_refused_at, timezone)],
  ['Recusada pela última vez', dateTime(sale.last_refused_at, timezone)],
  ['Vezes que foi enviada', sale.times],
  ...(sale.settled_at === null
    ? []
    : ([
        ['Resolvida em', dateTime(sale.settled_at, timezone)],
        ['Resolvida por', resolverOf(sale)],
        ['O que foi feito', sale.settled_note],
      ] as const)),
]

const FIELDS: Fields = {
  note: {
    label: 'O que foi feito',
    kind: paragraph,
    columns: 12,
    hint: 'Fica com a venda recusada, para quem perguntar.',
  },
}

interface ResolvingProps {
  readonly visit: Visit
  readonly id: number
  readonly filled?: Filled | undefined
}

const Resolving = ({ visit, id, filled }: ResolvingProps) => (
  <Card title="Resolver">
    <Form
      visit={visit}
      to={`${PATH}/${id}/resolver`}
      label="Marcar como resolvida"
      fields={FIELDS}
      filled={filled}
      back="/caixas"
    >
      <p>
        Faça antes o que for preciso: corrija a venda no caixa e envie de novo, ou registre o valor de outra forma.
        Marcada como resolvida, ela sai da lista, e não volta quando o caixa a envia de novo.
      </p>
    </Form>
  </Card>
)

/** Whoever presses the button twice has resolved it; whoever comes second is shown who was first. */
async function resolve(submission: Submission, id: number, note: string | null): Promise<Redirect> {
  const { context, session } = submission
  const { companyId, userId } = session
  const isNew = await resolveRefusedSale(context.pool, companyId, id, { userId, note })
  const resolvedBy = isNew ? userId : (await refusedSaleOf(submission))?.settled_by?.id
  if (resolvedBy === userId) return { to: '/caixas', flash: 'resolvida' }
  return { to: `${PATH}/${id}`, flash: 'ja-resolvida' }
}

export const refusedSalePages: readonly PanelRoute[] = [
  { path: PATH, section: 'tills', show: showOpen },
  { path: RESOLVED_PATH, section: 'tills', show: showResolved },
  { path: `${PATH}/:id`, section: 'tills', show: (visit) => showOne(visit) },
  formRoute({
    path: `${PATH}/:id/resolver`,
    section: 'tills',
    subject: refusedSaleOf,
    fields: () => FIELDS,
    schema: ResolutionNote,
    act: (submission, { id }, { note }) => resolve(submission, id, note ?? null),
    async again(submission, _, refusal) {
      const page = await showOne(submission, filledWith(FIELDS, submission.form, refusal))
      return page && { ...page, status: statusOf(refusal.refused) }
    },
  }),
]
