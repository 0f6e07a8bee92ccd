import { pathId } from '#http/paths.ts'
import { statusOf } from '#http/problems.ts'
import { ResolutionNote, resolveRefusedSale } from '#offline-sales/refused-sales.ts'
import { findNamesForTill } from '#queries/names-for-till.ts'
import { getRefusedSale, type RefusedSaleDetails } from '#queries/sales/list-refused-sales.ts'
import { dateTime } from '../format.ts'
import { type Fields, type Filled, filledWith } from '../forms/form.ts'
import { paragraph } from '../forms/kinds.ts'
import { link } from '../link.ts'
import type { Page, PanelRoute, Redirect, Submission, Visit } from '../route.ts'
import { Form } from '../ui/form.tsx'
import { Badge, Card, Facts } from '../ui/parts.tsx'
import { idsIn, Uploaded } from '../ui/uploaded.tsx'
import { reasonsIn } from '../words/refused-sales.ts'
import { formRoute } from './form-pages.ts'
import { settlerOf } from './refused-sales.tsx'

async function refusedSaleOf({ books, params }: Visit): Promise<RefusedSaleDetails | null> {
  const id = pathId(params.id)
  return id === null ? null : getRefusedSale(books.pool, books.companyId, id)
}

async function show(visit: Visit, filled?: Filled): Promise<Page | null> {
  const sale = await refusedSaleOf(visit)
  if (!sale) return null
  const { pool, companyId, timezone } = visit.books
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
      {sale.settled_at === null && <Settling visit={visit} id={sale.id} filled={filled} />}
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

const factsOf = (sale: RefusedSaleDetails, timezone: string): Parameters<typeof Facts>[0]['facts'] => [
  ['Situação', sale.settled_at ? <Badge tone="good">Resolvida</Badge> : <Badge tone="warn">À espera</Badge>],
  ['Enviada por', sale.user.name],
  ['Recusada pela primeira vez', dateTime(sale.first_refused_at, timezone)],
  ['Recusada pela última vez', dateTime(sale.last_refused_at, timezone)],
  ['Vezes que foi enviada', sale.times],
  ...(sale.settled_at === null
    ? []
    : ([
        ['Resolvida em', dateTime(sale.settled_at, timezone)],
        ['Resolvida por', settlerOf(sale)],
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

const Settling = ({ visit, id, filled }: SettlingProps) => (
  <Card title="Resolver">
    <Form
      visit={visit}
      to={`/caixas/recusadas/${id}/resolver`}
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

interface SettlingProps {
  readonly visit: Visit
  readonly id: number
  readonly filled?: Filled | undefined
}

/** Settles it. A button pressed twice has done what it says; whoever comes second is shown who was first. */
async function settle(submission: Submission, id: number, note: string | null): Promise<Redirect> {
  const { context, session } = submission
  const { companyId, userId } = session
  const isNew = await resolveRefusedSale(context.pool, companyId, id, { userId, note })
  const settledBy = isNew ? userId : (await refusedSaleOf(submission))?.settled_by?.id
  if (settledBy === userId) return { to: '/caixas', notice: 'resolvida' }
  return { to: `/caixas/recusadas/${id}`, notice: 'ja-resolvida' }
}

export const refusedSalePages: readonly PanelRoute[] = [
  { path: '/caixas/recusadas/:id', section: 'tills', show: (visit) => show(visit) },
  formRoute({
    path: '/caixas/recusadas/:id/resolver',
    section: 'tills',
    subject: refusedSaleOf,
    fields: () => FIELDS,
    schema: ResolutionNote,
    act: (submission, { id }, { note }) => settle(submission, id, note ?? null),
    async again(submission, _, refusal) {
      const page = await show(submission, filledWith(FIELDS, submission.form, refusal))
      return page && { ...page, status: statusOf(refusal.refused) }
    },
  }),
]
