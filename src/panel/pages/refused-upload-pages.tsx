import { ReverseReturnBody, reverseReturn } from '#commands/offline-returns.ts'
import {
  ChosenSession,
  RefusedMovementNote,
  RefusedReturnNote,
  recordRefusedMovement,
  recordRefusedReturn,
  resolveRefusedMovement,
  resolveRefusedReturn,
} from '#commands/refused-upload-commands.ts'
import { formatDateTime, formatMoney, formatQuantity } from '#domain/person-values.ts'
import type { Refusal } from '#domain/refusals.ts'
import { pathId } from '#http/paths.ts'
import { isRefusal } from '#ledger/command.ts'
import type { ReturnObject } from '#projections/returns.ts'
import { listOpenDrawers } from '#queries/cash-queries.ts'
import {
  countOpenReturns,
  getRefusedReturn,
  getReturn,
  listRefusedReturns,
  type RefusedReturn,
} from '#queries/return-queries.ts'
import {
  countOpenMovements,
  getRefusedMovement,
  listRefusedMovements,
  type RefusedMovement,
} from '#queries/till-queries.ts'
import { paragraphInput, suggestedInput } from '../forms/input-kinds.ts'
import { type Fields, reasonField } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { PageContext, PanelPage, PanelRoute } from '../panel-route.ts'
import { formPages, offersApproval } from '../ui/form-pages.tsx'
import { type Column, ListTable } from '../ui/list-table.tsx'
import { ButtonLink, Card, Facts, PanelBadge, ShortId } from '../ui/page-parts.tsx'
import { loadRecord } from '../ui/record-pages.tsx'
import { VALUE_NAMES } from '../words/record-words.ts'

const MOVEMENTS_PATH = '/caixas/movimentos-recusados'
const TILLS = { label: 'Caixas', to: '/caixas' }

/** Shown at once; the oldest are decided first. */
const SHOWN = 50

const kindOf = ({ payload }: RefusedMovement): string => VALUE_NAMES.kind?.[payload.kind] ?? ''
const whyRefused = ({ payload, owner_name }: RefusedMovement): string =>
  payload.code === 'access_ended'
    ? 'Feito depois do fim do acesso do usuário'
    : `Gaveta de ${owner_name ?? 'outro usuário'}`

const movementColumns = (timezone: string): Column<RefusedMovement>[] => [
  {
    head: 'Movimento do caixa',
    cell: ({ revision, offline_id }) => (
      <a href={link(`${MOVEMENTS_PATH}/${revision}`)}>
        <ShortId id={offline_id} />
      </a>
    ),
  },
  { head: 'Enviado em', cell: ({ uploaded_at }) => formatDateTime(uploaded_at, timezone), isExtra: true },
  { head: 'Enviado por', cell: ({ user_name }) => user_name },
  { head: 'Tipo', cell: kindOf },
  { head: 'Motivo', cell: whyRefused, isExtra: true },
  { head: 'Valor', cell: ({ payload: { amount } }) => amount && formatMoney(amount), isNumber: true },
]

/** Whether the user sees refused movements of drawers. */
export const seesRefusedMovements = ({ reaches }: PageContext): boolean => reaches('GET', `${MOVEMENTS_PATH}/1`)

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
        O caixa enviou estes movimentos para a gaveta de outro usuário ou depois do fim do acesso. Eles não mudam
        nenhuma gaveta até alguém decidir. Os mais antigos vêm primeiro.
      </p>
      <ListTable caption="Movimentos recusados" rows={rows} empty="" columns={movementColumns(timezone)} />
    </Card>
  )
}

async function movementOf({ readModel, params }: PageContext): Promise<RefusedMovement | null> {
  const revision = pathId(params.revision)
  return revision === null ? null : getRefusedMovement(readModel.reader, revision)
}

const movementTitle = ({ offline_id }: RefusedMovement) => `Movimento recusado ${offline_id}`

const STATES = { refused: 'Para resolver', recorded: 'Registrado', resolved: 'Resolvido' } as const

async function showMovement(visit: PageContext): Promise<PanelPage | null> {
  const found = await movementOf(visit)
  if (!found) return null
  const { timezone } = visit.readModel
  const { payload, revision, state } = found
  const may = (action: string) =>
    state === 'refused' && visit.reaches('POST', `${MOVEMENTS_PATH}/${revision}/${action}`)
  const counted = payload.counted?.find(({ payment_type_id }) => payment_type_id === null)
  const body = (
    <>
      <Card title="Dados">
        <Facts
          facts={[
            ['Situação', <PanelBadge tone={state === 'refused' ? 'warn' : 'good'}>{STATES[state]}</PanelBadge>],
            ['Motivo da recusa', whyRefused(found)],
            ['Tipo', kindOf(found)],
            ['Valor', payload.amount && formatMoney(payload.amount)],
            ['Contado na gaveta', counted && formatMoney(counted.amount)],
            ['Conta recebida', payload.receivable_id],
            ['Motivo do movimento', payload.reason],
            ['Sessão do caixa', payload.session_id],
            ['Momento', formatDateTime(payload.at, timezone)],
            ['Enviado por', found.user_name],
            ['Como foi resolvido', found.note],
          ]}
        />
      </Card>
      <div class="actions">
        {may('registrar') && (
          <ButtonLink to={`${MOVEMENTS_PATH}/${revision}/registrar`}>Registrar movimento</ButtonLink>
        )}
        {may('resolver') && (
          <ButtonLink to={`${MOVEMENTS_PATH}/${revision}/resolver`}>Resolver sem registrar</ButtonLink>
        )}
      </div>
    </>
  )
  return { title: movementTitle(found), parent: TILLS, body }
}

const movementForm = {
  section: 'tills',
  access: ['see_all_sales', 'cash_sessions'],
  subject: movementOf,
  title: movementTitle,
  back: ({ revision }: RefusedMovement) => `${MOVEMENTS_PATH}/${revision}`,
  obstacle: ({ state }: RefusedMovement) => (state === 'refused' ? null : 'Este movimento já foi resolvido.'),
} as const

const MOVEMENT_NOTE: Fields = {
  note: { label: 'Como foi resolvido', kind: paragraphInput, columns: 12, isRequired: true },
}

async function sessionField({ readModel }: PageContext): Promise<Fields> {
  const open = await listOpenDrawers(readModel.reader, readModel.timezone)
  const hint = 'O nome da sessão em que o dinheiro entrou ou saiu de fato.'
  const kind = suggestedInput(open.map(({ session_id }) => session_id))
  return { session_id: { label: 'Sessão do caixa', kind, columns: 6, isRequired: true, hint } }
}

export const refusedMovementPages: readonly PanelRoute[] = [
  { path: `${MOVEMENTS_PATH}/:revision`, section: 'tills', access: 'see_all_sales', show: showMovement },
  ...formPages({
    ...movementForm,
    path: `${MOVEMENTS_PATH}/:revision/registrar`,
    label: 'Registrar movimento',
    intro: () => <p>O movimento é registrado como o caixa o fez, na gaveta da sessão escolhida.</p>,
    fields: (_, visit) => sessionField(visit),
    initial: ({ payload: { session_id } }) => ({ session_id }),
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
    ...movementForm,
    path: `${MOVEMENTS_PATH}/:revision/resolver`,
    label: 'Marcar como resolvido',
    intro: () => <p>O movimento sai da lista sem ser registrado: nenhuma gaveta muda.</p>,
    fields: () => MOVEMENT_NOTE,
    schema: RefusedMovementNote,
    async act(submission, { offline_id }, { note }) {
      const answer = await submission.run(resolveRefusedMovement, { offline_id, note })
      return isRefusal(answer) ? answer : { to: '/caixas', flash: 'movimento-resolvido' }
    },
  }),
]

const PATH = '/caixas/devolucoes-recusadas'

const reasonOf = (refusal: string | null): string => VALUE_NAMES.code?.[refusal ?? ''] ?? ''

const moneyOf = ({ payload }: RefusedReturn): string =>
  payload.refunds.map(({ name, amount }) => `${name} ${formatMoney(amount)}`).join(', ') || 'Nada'

const columnsOf = (timezone: string): Column<RefusedReturn>[] => [
  {
    head: 'Devolução do caixa',
    cell: ({ return_id, offline_id }) => (
      <a href={link(`${PATH}/${return_id}`)}>
        <ShortId id={offline_id} />
      </a>
    ),
  },
  { head: 'Enviada em', cell: ({ uploaded_at }) => formatDateTime(uploaded_at, timezone) },
  { head: 'Enviada por', cell: ({ user_name }) => user_name, isExtra: true },
  { head: 'Motivo', cell: ({ refusal }) => reasonOf(refusal) },
  { head: 'Devolvido', cell: moneyOf },
]

/** Whether the user sees refused returns of tills. */
export const seesRefusedReturns = ({ reaches }: PageContext): boolean => reaches('GET', `${PATH}/1`)

/** Number of open ones that the user sees. */
export const countRefusedReturns = async (visit: PageContext): Promise<number> =>
  seesRefusedReturns(visit) ? countOpenReturns(visit.readModel.reader, visit.session.now) : 0

/** Refused returns of tills, beside the refused sales; empty if there are none. */
export async function RefusedReturns({ visit: { readModel, session } }: { readonly visit: PageContext }) {
  const { reader, timezone } = readModel
  const rows = await listRefusedReturns(reader, { now: session.now, limit: SHOWN })
  return rows.length === 0 ? null : (
    <Card title="Devoluções recusadas">
      <p class="hint">
        O caixa fez estas devoluções, mas elas não foram registradas. O dinheiro que o caixa devolveu já saiu da gaveta.
        As mais antigas vêm primeiro.
      </p>
      <ListTable isList caption="Devoluções recusadas" rows={rows} empty="" columns={columnsOf(timezone)} />
    </Card>
  )
}

async function refusedReturnOf({ readModel, session, params }: PageContext) {
  const id = pathId(params.id)
  return id === null ? null : getRefusedReturn(readModel.reader, id, session.now)
}

const titleOf = ({ offline_id }: RefusedReturn) => `Devolução recusada ${offline_id}`

async function show(visit: PageContext): Promise<PanelPage | null> {
  const found = await refusedReturnOf(visit)
  if (!found) return null
  const { timezone } = visit.readModel
  const { payload, return_id, is_open, state } = found
  const may = (action: string) => is_open && visit.reaches('POST', `${PATH}/${return_id}/${action}`)
  const body = (
    <>
      <Card title="Dados">
        <Facts
          facts={[
            [
              'Situação',
              is_open ? (
                <PanelBadge tone="warn">Para resolver</PanelBadge>
              ) : (
                <PanelBadge tone="good">{state === 'recorded' ? 'Registrada' : 'Resolvida'}</PanelBadge>
              ),
            ],
            ['Motivo da recusa', reasonOf(found.refusal)],
            ['Venda', payload.sale_id === null ? payload.sale_offline_id : `Venda ${payload.sale_id}`],
            ['Motivo da devolução', payload.reason],
            ['Devolvida em', formatDateTime(payload.returned_at, timezone)],
            ['Enviada por', found.user_name],
            ['Dinheiro devolvido', moneyOf(found)],
            ['Sessão do caixa', payload.cash_session_id],
            ['Como foi resolvida', found.note],
          ]}
        />
      </Card>
      <Card title="Itens">
        <ListTable
          caption="Itens"
          rows={payload.items}
          empty=""
          columns={[
            { head: 'Item da venda', cell: ({ line }) => line + 1 },
            { head: 'Qtd.', cell: ({ quantity }) => formatQuantity(quantity), isNumber: true },
          ]}
        />
      </Card>
      <div class="actions">
        {may('registrar') && <ButtonLink to={`${PATH}/${return_id}/registrar`}>Registrar devolução</ButtonLink>}
        {may('resolver') && <ButtonLink to={`${PATH}/${return_id}/resolver`}>Resolver sem registrar</ButtonLink>}
      </div>
    </>
  )
  return { title: titleOf(found), parent: TILLS, body }
}

const common = {
  section: 'tills',
  subject: refusedReturnOf,
  title: titleOf,
  back: ({ return_id }: RefusedReturn) => `${PATH}/${return_id}`,
  obstacle: ({ is_open }: RefusedReturn) => (is_open ? null : 'Esta devolução já foi resolvida.'),
} as const

const NOTE: Fields = { note: { label: 'Como foi resolvida', kind: paragraphInput, columns: 12, isRequired: true } }

const forms: readonly PanelRoute[] = [
  ...formPages({
    ...common,
    access: ['see_all_sales', 'return_goods'],
    path: `${PATH}/:id/registrar`,
    label: 'Registrar devolução',
    intro: () => <p>A devolução é registrada como o caixa a fez: mercadoria, dinheiro e contas da venda.</p>,
    fields: () => ({}),
    schema: RefusedReturnNote.omit({ note: true }),
    needsApproval: (_, visit) => offersApproval(visit, 'return_goods'),
    problem: ({ refused, details }: Refusal) =>
      refused === 'return_refused' ? `Não pode ser registrada: ${reasonOf(String(details?.reason))}.` : undefined,
    async act(submission, { return_id: id }) {
      const answer = await submission.run(recordRefusedReturn, { id })
      return isRefusal(answer) ? answer : { to: `/devolucoes/${id}`, flash: 'devolucao-registrada' }
    },
  }),
  ...formPages({
    ...common,
    access: ['see_all_sales', 'return_goods'],
    path: `${PATH}/:id/resolver`,
    label: 'Marcar como resolvida',
    intro: () => (
      <p>A devolução sai da lista sem ser registrada. O dinheiro que o caixa devolveu continua fora da gaveta.</p>
    ),
    fields: () => NOTE,
    schema: RefusedReturnNote,
    async act(submission, { return_id: id }, { note }) {
      const answer = await submission.run(resolveRefusedReturn, { id, note })
      return isRefusal(answer) ? answer : { to: '/caixas', flash: 'devolucao-resolvida' }
    },
  }),
  ...formPages({
    section: 'sales',
    access: ['see_all_sales', 'cancel_all'],
    path: '/devolucoes/:id/desfazer',
    subject: (visit: PageContext) =>
      loadRecord<ReturnObject>(visit, ({ readModel }, id) => getReturn(readModel.reader, id)),
    title: ({ id }) => `Desfazer devolução ${id}`,
    label: 'Desfazer devolução',
    isDangerous: true,
    back: ({ id }) => `/devolucoes/${id}`,
    obstacle: ({ reversed_at }) => (reversed_at === null ? null : 'Esta devolução já foi desfeita.'),
    intro: () => (
      <p>
        Para uma devolução registrada por engano: a venda volta a ter os itens, o estoque sai de novo, e contas e
        crédito de troca voltam ao que eram.
      </p>
    ),
    fields: () => ({ reason: reasonField('Fica no histórico da devolução e da venda.') }),
    schema: ReverseReturnBody,
    needsApproval: (_, visit) => offersApproval(visit, 'cancel_all'),
    async act(submission, { id }, { reason }) {
      const answer = await submission.run(reverseReturn, { id, reason })
      return isRefusal(answer) ? answer : { to: `/devolucoes/${id}`, flash: 'devolucao-desfeita' }
    },
  }),
]

export const refusedReturnPages: readonly PanelRoute[] = [
  { path: `${PATH}/:id`, section: 'tills', access: 'see_all_sales', show },
  ...forms,
]
