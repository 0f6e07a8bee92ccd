import {
  ChosenSession,
  RefusedMovementNote,
  recordRefusedMovement,
  resolveRefusedMovement,
} from '#commands/refused-movement-commands.ts'
import { formatDateTime, formatMoney } from '#domain/person-values.ts'
import type { Refusal } from '#domain/refusals.ts'
import { pathId } from '#http/paths.ts'
import { isRefusal } from '#ledger/command.ts'
import { listOpenSessionNames } from '#queries/cash-queries.ts'
import {
  countOpenMovements,
  getRefusedMovement,
  listRefusedMovements,
  type RefusedMovement,
} from '#queries/refused-movement-queries.ts'
import { paragraphInput, suggestedInput } from '../forms/input-kinds.ts'
import type { Fields } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { PageContext, PanelPage, PanelRoute } from '../panel-route.ts'
import { formPages } from '../ui/form-pages.tsx'
import { ButtonLink, Card, Facts, PanelBadge, ShortId } from '../ui/page-parts.tsx'
import { type Column, ListTable } from '../ui/panel-list.tsx'
import { VALUE_NAMES } from '../words/record-words.ts'

const PATH = '/caixas/movimentos-recusados'
const TILLS = { label: 'Caixas', to: '/caixas' }

/** Shown at once; the oldest are decided first. */
const SHOWN = 50

const kindOf = ({ sent }: RefusedMovement): string => VALUE_NAMES.kind?.[sent.kind] ?? ''
const ownerOf = ({ owner_name }: RefusedMovement): string => `Gaveta de ${owner_name ?? 'outro usuário'}`

const columnsOf = (timezone: string): Column<RefusedMovement>[] => [
  {
    head: 'Movimento do caixa',
    cell: ({ revision, offline_id }) => (
      <a href={link(`${PATH}/${revision}`)}>
        <ShortId id={offline_id} />
      </a>
    ),
  },
  { head: 'Enviado em', cell: ({ uploaded_at }) => formatDateTime(uploaded_at, timezone), isExtra: true },
  { head: 'Enviado por', cell: ({ user_name }) => user_name },
  { head: 'Tipo', cell: kindOf },
  { head: 'Motivo', cell: ownerOf, isExtra: true },
  { head: 'Valor', cell: ({ sent: { amount } }) => amount && formatMoney(amount), isNumber: true },
]

/** Whether the user sees refused movements of drawers. */
export const seesRefusedMovements = ({ reaches }: PageContext): boolean => reaches('GET', `${PATH}/1`)

/** Number of open ones that the user sees. */
export const countRefusedMovements = async (visit: PageContext): Promise<number> =>
  seesRefusedMovements(visit) ? countOpenMovements(visit.readModel.reader) : 0

/** Refused movements of drawers, beside the refused sales and returns; empty if there are none. */
export async function RefusedMovements({ visit }: { readonly visit: PageContext }) {
  const { reader, timezone } = visit.readModel
  const rows = await listRefusedMovements(reader, SHOWN)
  return rows.length === 0 ? null : (
    <Card title="Movimentos recusados">
      <p class="hint">
        O caixa enviou estes movimentos para a gaveta de outro usuário. Eles não mudam nenhuma gaveta até alguém
        decidir. Os mais antigos vêm primeiro.
      </p>
      <ListTable caption="Movimentos recusados" rows={rows} empty="" columns={columnsOf(timezone)} />
    </Card>
  )
}

async function movementOf({ readModel, params }: PageContext): Promise<RefusedMovement | null> {
  const revision = pathId(params.revision)
  return revision === null ? null : getRefusedMovement(readModel.reader, revision)
}

const titleOf = ({ offline_id }: RefusedMovement) => `Movimento recusado ${offline_id}`

const STATES = { refused: 'Para resolver', recorded: 'Registrado', resolved: 'Resolvido' } as const

async function show(visit: PageContext): Promise<PanelPage | null> {
  const found = await movementOf(visit)
  if (!found) return null
  const { timezone } = visit.readModel
  const { sent, revision, state } = found
  const may = (action: string) => state === 'refused' && visit.reaches('POST', `${PATH}/${revision}/${action}`)
  const counted = sent.counted?.find(({ payment_type_id }) => payment_type_id === null)
  const body = (
    <>
      <Card title="Dados">
        <Facts
          facts={[
            ['Situação', <PanelBadge tone={state === 'refused' ? 'warn' : 'good'}>{STATES[state]}</PanelBadge>],
            ['Motivo da recusa', ownerOf(found)],
            ['Tipo', kindOf(found)],
            ['Valor', sent.amount && formatMoney(sent.amount)],
            ['Contado na gaveta', counted && formatMoney(counted.amount)],
            ['Conta recebida', sent.receivable_id],
            ['Motivo do movimento', sent.reason],
            ['Sessão do caixa', sent.session_id],
            ['Momento', formatDateTime(sent.at, timezone)],
            ['Enviado por', found.user_name],
            ['Como foi resolvido', found.note],
          ]}
        />
      </Card>
      <div class="actions">
        {may('registrar') && <ButtonLink to={`${PATH}/${revision}/registrar`}>Registrar movimento</ButtonLink>}
        {may('resolver') && <ButtonLink to={`${PATH}/${revision}/resolver`}>Resolver sem registrar</ButtonLink>}
      </div>
    </>
  )
  return { title: titleOf(found), parent: TILLS, body }
}

const common = {
  section: 'tills',
  access: ['see_all_sales', 'cash_sessions'],
  subject: movementOf,
  title: titleOf,
  back: ({ revision }: RefusedMovement) => `${PATH}/${revision}`,
  obstacle: ({ state }: RefusedMovement) => (state === 'refused' ? null : 'Este movimento já foi resolvido.'),
} as const

const NOTE: Fields = { note: { label: 'Como foi resolvido', kind: paragraphInput, columns: 12, isRequired: true } }

async function sessionField({ readModel }: PageContext): Promise<Fields> {
  const suggestions = await listOpenSessionNames(readModel.reader)
  const hint = 'O nome da sessão em que o dinheiro entrou ou saiu de fato.'
  const kind = suggestedInput(suggestions)
  return { session_id: { label: 'Sessão do caixa', kind, columns: 6, isRequired: true, hint } }
}

export const refusedMovementPages: readonly PanelRoute[] = [
  { path: `${PATH}/:revision`, section: 'tills', access: 'see_all_sales', show },
  ...formPages({
    ...common,
    path: `${PATH}/:revision/registrar`,
    label: 'Registrar movimento',
    intro: () => <p>O movimento é registrado como o caixa o fez, na gaveta da sessão escolhida.</p>,
    fields: (_, visit) => sessionField(visit),
    initial: ({ sent: { session_id } }) => ({ session_id }),
    schema: ChosenSession,
    problem: ({ refused }: Refusal) =>
      refused === 'session_open'
        ? 'Esta sessão já foi aberta: para uma abertura, informe o nome de uma sessão nova.'
        : refused === 'session_closed'
          ? 'Esta sessão já foi fechada.'
          : undefined,
    async act(submission, { offline_id }, { session_id }) {
      const answer = await submission.run(recordRefusedMovement, { offline_id, session_id })
      return isRefusal(answer) ? answer : { to: '/caixas', flash: 'movimento-registrado' }
    },
  }),
  ...formPages({
    ...common,
    path: `${PATH}/:revision/resolver`,
    label: 'Marcar como resolvido',
    intro: () => <p>O movimento sai da lista sem ser registrado: nenhuma gaveta muda.</p>,
    fields: () => NOTE,
    schema: RefusedMovementNote,
    async act(submission, { offline_id }, { note }) {
      const answer = await submission.run(resolveRefusedMovement, { offline_id, note })
      return isRefusal(answer) ? answer : { to: '/caixas', flash: 'movimento-resolvido' }
    },
  }),
]
