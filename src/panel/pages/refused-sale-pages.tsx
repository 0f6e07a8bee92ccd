import * as z from 'zod'
import { OfflineSaleInput } from '#commands/offline-sale-input.ts'
import { formatCount, formatDateTime } from '#domain/person-values.ts'
import { optionalText } from '#domain/text.ts'
import { pathId } from '#http/paths.ts'
import { toHttpStatus } from '#http/problems.ts'
import { resolveRefusedSale } from '#privacy/refused-sales.ts'
import { findUnits } from '#queries/item-queries.ts'
import {
  findNamesForTill,
  getRefusedSale,
  listRefusedSales,
  listResolvedSales,
  type RefusedSale,
  type RefusedSaleDetails,
  type RefusedSaleRecord,
} from '#queries/offline-sale-queries.ts'
import { paragraphInput } from '../forms/input-kinds.ts'
import { type Fields, type FilledForm, fillFromBody } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { FormSubmission, PageContext, PanelPage, PanelRoute, Redirect } from '../panel-route.ts'
import { Form } from '../ui/form-fields.tsx'
import { formRoute } from '../ui/form-pages.tsx'
import { type Column, ListTable } from '../ui/list-table.tsx'
import {
  ButtonLink,
  Card,
  type Fact,
  Facts,
  Figure,
  PanelBadge,
  SaleLink,
  ShortId,
  WithheldContent,
} from '../ui/page-parts.tsx'
import { Pager } from '../ui/panel-list.tsx'
import { formatRefusalReason, idsIn, reasonsIn, UploadedSaleCard } from './uploaded-sale-pages.tsx'

export const REFUSED_SALES_PATH = '/caixas/recusadas'

/** The refused sale of a path; null if it does not exist. */
export async function loadRefusedSale({ readModel, params }: PageContext): Promise<RefusedSaleDetails | null> {
  const id = pathId(params.id)
  return id === null ? null : getRefusedSale(readModel.reader, id)
}

export const toRefusedTitle = ({ offline_id }: RefusedSale): string =>
  `Venda recusada: ${offline_id || 'sem identificação'}`

/** Codes of cancellations that the state of the sale forbids. */
const CANCELLATIONS = ['already_settled', 'has_payments', 'fiscal_document_issued', 'sale_returned']

/** Why a refused sale cannot be recorded, even corrected; null if it can. */
export function recordingObstacle({ resolved_at, sent, code }: RefusedSaleDetails): string | null {
  if (resolved_at !== null) return 'Esta venda já está resolvida.'
  if (sent === null) return 'A venda era grande demais para ser guardada: registre o valor de outra forma.'
  if (code === 'permission_required') return 'A venda já está registrada: cancele-a na página dela.'
  return CANCELLATIONS.includes(code) ? 'A venda já está registrada e não pode mais ser cancelada.' : null
}

/** Why it cannot be recorded unchanged: a malformed upload cannot. */
export function asIsObstacle(sale: RefusedSaleDetails): string | null {
  const isWhole = OfflineSaleInput.safeParse(sale.payload).success
  return recordingObstacle(sale) ?? (isWhole ? null : 'Faltam dados para registrar a venda: corrija-a.')
}

/** Note on the resolution of a refused sale. */
const ResolutionNote = z.strictObject({ note: optionalText(2_000) })

const TILLS = { label: 'Caixas', to: '/caixas' }
const RESOLVED_PATH = `${REFUSED_SALES_PATH}/resolvidas`

/** Per page; one more is read to know whether there is a next page. */
const SHOWN = 50

export const refusedColumns = (timezone: string): Column<RefusedSale>[] => [
  {
    head: 'Venda do caixa',
    cell: ({ id, offline_id }) => (
      <a href={link(`${REFUSED_SALES_PATH}/${id}`)}>{offline_id ? <ShortId id={offline_id} /> : 'sem identificação'}</a>
    ),
  },
  { head: 'Recusada em', cell: ({ last_refused_at }) => formatDateTime(last_refused_at, timezone) },
  { head: 'Enviada por', cell: ({ user }) => user.name, isExtra: true },
  { head: 'Motivo', cell: formatRefusalReason, isExtra: true },
  { head: 'Vezes', cell: ({ times }) => times, isNumber: true, isExtra: true },
]

/** The resolving user, or the till that uploaded a corrected sale. */
const resolverOf = ({ resolved_by }: RefusedSaleRecord): string =>
  resolved_by ? (resolved_by.name ?? `usuário ${resolved_by.id}`) : 'o caixa, que enviou a venda corrigida'

const resolvedColumns = (timezone: string): Column<RefusedSaleRecord>[] => [
  ...refusedColumns(timezone).filter(({ head }) => head !== 'Vezes'),
  { head: 'Resolvida em', cell: ({ resolved_at }) => resolved_at && formatDateTime(resolved_at, timezone) },
  { head: 'Por', cell: resolverOf },
]

async function showOpen({ readModel, query }: PageContext): Promise<PanelPage> {
  const after = pathId(query.cursor ?? '') ?? 0
  const { total, sales } = await listRefusedSales(readModel.reader, { after, limit: SHOWN + 1 })
  const body = (
    <>
      <p class="hint">
        Para resolver: <Figure name="recusadas">{formatCount(total)}</Figure>. As mais antigas vêm primeiro.
      </p>
      <RefusedSaleList
        path={REFUSED_SALES_PATH}
        query={query}
        columns={refusedColumns(readModel.timezone)}
        found={sales}
      />
    </>
  )
  return { title: 'Vendas recusadas', parent: TILLS, more: [{ label: 'Resolvidas', to: RESOLVED_PATH }], body }
}

async function showResolved({ readModel, query }: PageContext): Promise<PanelPage> {
  const before = pathId(query.cursor ?? '') ?? undefined
  const sales = await listResolvedSales(readModel.reader, { before, limit: SHOWN + 1 })
  const body = (
    <>
      <p class="hint">Ficam aqui por 90 dias depois de resolvidas.</p>
      <RefusedSaleList path={RESOLVED_PATH} query={query} columns={resolvedColumns(readModel.timezone)} found={sales} />
    </>
  )
  return { title: 'Vendas recusadas resolvidas', parent: { label: 'Vendas recusadas', to: REFUSED_SALES_PATH }, body }
}

interface RefusedSaleListProps<R> {
  readonly path: string
  readonly query: PageContext['query']
  readonly columns: readonly Column<R>[]
  readonly found: readonly R[]
}

function RefusedSaleList<R extends RefusedSale>({ path, query, columns, found }: RefusedSaleListProps<R>) {
  const rows = found.slice(0, SHOWN)
  const next = found.length > SHOWN ? String(rows.at(-1)?.id) : null
  return (
    <>
      <ListTable isList caption="Vendas recusadas" columns={columns} rows={rows} empty="Nenhuma venda." />
      <Pager path={path} query={query} next={next} />
    </>
  )
}

async function showOne(visit: PageContext, filled?: FilledForm): Promise<PanelPage | null> {
  const sale = await loadRefusedSale(visit)
  if (!sale) return null
  const { reader, timezone } = visit.readModel
  const ids = idsIn(sale.payload)
  const names = await findNamesForTill(reader, ids)
  const units = await findUnits(
    reader,
    ids.products.map((catalog_item_id) => ({ catalog_item_id })),
  )
  const body = (
    <>
      <Reasons sale={sale} />
      <Card title="Venda como foi enviada">
        {!visit.session.seesPersonalData ? (
          <WithheldContent />
        ) : sale.sent === null ? (
          <p>Era grande demais para ser guardada.</p>
        ) : (
          <>
            <UploadedSaleCard payload={sale.payload} names={names} units={units} timezone={timezone} />
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
      {recordingObstacle(sale) === null && visit.reaches('GET', `${REFUSED_SALES_PATH}/${sale.id}/corrigir`) && (
        <Recording sale={sale} />
      )}
      {sale.resolved_at === null && visit.reaches('POST', `${REFUSED_SALES_PATH}/${sale.id}/resolver`) && (
        <Resolving visit={visit} id={sale.id} filled={filled} />
      )}
    </>
  )
  return { title: toRefusedTitle(sale), parent: { label: 'Vendas recusadas', to: REFUSED_SALES_PATH }, body }
}

/** Reasons for the refusal by field, in words. */
const Reasons = ({ sale: { errors, sale_id } }: { readonly sale: RefusedSaleDetails }) => (
  <Card title="Motivo da recusa">
    <ul>
      {reasonsIn(errors).map((reason) => (
        <li key={reason}>{reason}</li>
      ))}
    </ul>
    {sale_id !== null && (
      <p>
        Com esta identificação está registrada a <SaleLink id={sale_id}>venda {sale_id}</SaleLink>.
      </p>
    )}
  </Card>
)

const factsOf = (sale: RefusedSaleDetails, timezone: string): readonly Fact[] => [
  [
    'Situação',
    sale.resolved_at ? (
      <PanelBadge tone="good">Resolvida</PanelBadge>
    ) : (
      <PanelBadge tone="warn">Para resolver</PanelBadge>
    ),
  ],
  ['Enviada por', sale.user.name],
  ['Recusada pela primeira vez', formatDateTime(sale.first_refused_at, timezone)],
  ['Recusada pela última vez', formatDateTime(sale.last_refused_at, timezone)],
  ['Vezes que foi enviada', sale.times],
  ...(sale.resolved_at === null
    ? []
    : ([
        ['Resolvida em', formatDateTime(sale.resolved_at, timezone)],
        ['Resolvida por', resolverOf(sale)],
        ['Como foi resolvida', sale.resolution_note],
      ] as const)),
]

/** The sale happened at the counter, so it must be recordable whatever the till sent. */
const Recording = ({ sale }: { readonly sale: RefusedSaleDetails }) => (
  <Card title="Registrar">
    <p>
      Se a venda aconteceu, registre-a como está, mesmo que os valores não fechem, ou corrigida. O caixa é avisado no
      próximo envio.
    </p>
    <div class="actions">
      {asIsObstacle(sale) === null && (
        <ButtonLink to={`${REFUSED_SALES_PATH}/${sale.id}/registrar`}>Registrar como está</ButtonLink>
      )}
      <ButtonLink to={`${REFUSED_SALES_PATH}/${sale.id}/corrigir`}>Corrigir e registrar</ButtonLink>
    </div>
  </Card>
)

const FIELDS: Fields = {
  note: {
    label: 'Como foi resolvida',
    kind: paragraphInput,
    columns: 12,
    hint: 'Fica registrado na venda recusada.',
  },
}

interface ResolvingProps {
  readonly visit: PageContext
  readonly id: number
  readonly filled?: FilledForm | undefined
}

const Resolving = ({ visit, id, filled }: ResolvingProps) => (
  <Card title="Resolver">
    <Form
      visit={visit}
      to={`${REFUSED_SALES_PATH}/${id}/resolver`}
      label="Marcar como resolvida"
      fields={FIELDS}
      filled={filled}
      back="/caixas"
    >
      <p>
        Use quando não há o que registrar ou quando o valor já foi registrado de outra forma. A venda sai da lista e não
        volta se o caixa a enviar de novo.
      </p>
    </Form>
  </Card>
)

/** A repeated form succeeds; a second person is shown who resolved it first. */
async function resolve(submission: FormSubmission, id: number, note: string | null): Promise<Redirect> {
  const { context, session } = submission
  const { companyId, userId } = session
  const isNew = await resolveRefusedSale(context.reads.poolOf(companyId), companyId, id, { userId, note })
  const resolvedBy = isNew ? userId : (await loadRefusedSale(submission))?.resolved_by?.id
  if (resolvedBy === userId) return { to: '/caixas', flash: 'resolvida' }
  return { to: `${REFUSED_SALES_PATH}/${id}`, flash: 'ja-resolvida' }
}

export const refusedSalePages: readonly PanelRoute[] = [
  { path: REFUSED_SALES_PATH, section: 'tills', show: showOpen },
  { path: RESOLVED_PATH, section: 'tills', show: showResolved },
  { path: `${REFUSED_SALES_PATH}/:id`, section: 'tills', show: (visit) => showOne(visit) },
  formRoute({
    path: `${REFUSED_SALES_PATH}/:id/resolver`,
    section: 'tills',
    access: 'sell',
    subject: loadRefusedSale,
    fields: () => FIELDS,
    schema: ResolutionNote,
    act: (submission, { id }, { note }) => resolve(submission, id, note ?? null),
    async again(submission, _, refusal) {
      const page = await showOne(submission, fillFromBody(FIELDS, submission.form, refusal))
      return page && { ...page, status: toHttpStatus(refusal.refused) }
    },
  }),
]
