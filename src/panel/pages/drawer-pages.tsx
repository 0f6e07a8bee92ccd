import * as z from 'zod'
import {
  CloseDrawer,
  closeDrawer,
  DifferenceExplanation,
  explainDifference,
  MoveDrawer,
  moveDrawer,
  OpenDrawer,
  openDrawer,
} from '#commands/drawer-commands.ts'
import { fromCents, toCents } from '#domain/money.ts'
import { formatCents } from '#domain/person-values.ts'
import { type Refusal, refuseField } from '#domain/refusals.ts'
import { DIFFERENCE_REASONS } from '#events/till-events.ts'
import { isRefusal } from '#ledger/command.ts'
import type { CashSessionObject } from '#projections/cash-sessions.ts'
import { getCashSession } from '#queries/cash-queries.ts'
import { amountInput, choiceInput, integerInput, lineInput, paragraphInput, toOptions } from '../forms/input-kinds.ts'
import type { Field, Fields } from '../forms/panel-form.ts'
import type { FormSubmission, PageContext, PanelRoute } from '../panel-route.ts'
import { formPages, runAndRedirect } from '../ui/form-pages.tsx'
import { loadRecord } from '../ui/record-pages.tsx'
import type { FlashCode } from '../words/message-words.ts'
import { VALUE_NAMES } from '../words/record-words.ts'

export const DRAWERS = '/caixas/sessoes'
export const OPEN_DRAWER = `${DRAWERS}/abrir`

export const drawerPath = (id: number): string => `${DRAWERS}/${id}`

export const differenceReason = (reason: string): string => VALUE_NAMES.reason?.[reason] ?? reason

const newIds = ({ context: { environment } }: FormSubmission) => ({
  session_id: environment.newId(),
  offline_id: environment.newId(),
})

const amountField = (label: string): Field => ({
  ...{ label, kind: amountInput, isRequired: true, columns: 4 },
  isFocused: true,
})
const note: Field = { label: 'Observação', kind: lineInput, columns: 8 }

const openPages = formPages({
  section: 'tills',
  access: 'cash_sessions',
  path: OPEN_DRAWER,
  subject: () => ({}),
  title: () => 'Abrir gaveta',
  label: 'Abrir gaveta',
  back: () => DRAWERS,
  fields: (): Fields => ({ amount: amountField('Troco inicial (R$)'), reason: note }),
  schema: OpenDrawer,
  async act(submission, _, input) {
    const { userId } = submission.session
    const answer = await submission.run(openDrawer, { ...newIds(submission), userId, ...input })
    if (isRefusal(answer)) return answer
    return { to: drawerPath((answer.record as CashSessionObject).id), flash: 'gaveta-aberta' }
  },
})

const common = {
  section: 'tills',
  access: 'cash_sessions',
  subject: (visit: PageContext) =>
    loadRecord<CashSessionObject>(visit, ({ readModel }, id) => getCashSession(readModel.reader, id)),
  back: ({ id }: CashSessionObject) => drawerPath(id),
} as const

const CLOSED = 'Esta gaveta já foi fechada.'
const open = { ...common, obstacle: ({ status }: CashSessionObject) => (status === 'open' ? null : CLOSED) } as const

const movePages = (kind: 'in' | 'out', path: string, label: string, flash: FlashCode): PanelRoute[] =>
  formPages({
    ...open,
    path: `${DRAWERS}/:id/${path}`,
    title: ({ name }: CashSessionObject) => `${label}: ${name}`,
    label: `Registrar ${label.toLowerCase()}`,
    fields: (): Fields => ({ amount: amountField('Valor (R$)'), reason: note }),
    schema: MoveDrawer,
    act: (submission, { id, session_id }, input) => {
      const movement = { ...newIds(submission), session_id, kind, ...input }
      return runAndRedirect(submission, moveDrawer, movement, { to: drawerPath(id), flash })
    },
  })

/** In cents. */
const NOTES = [200_00, 100_00, 50_00, 20_00, 10_00, 5_00, 2_00] as const
const COINS = [1_00, 50, 25, 10, 5, 1] as const

/** Pieces of one value that a count may have. */
const MAX_PIECES = 99_999

const Counting = z.object({
  pieces: z.record(z.string(), z.int().min(0).max(MAX_PIECES, `no máximo ${MAX_PIECES}`).nullable()).nullish(),
  other: CloseDrawer.shape.counted.nullish(),
  reason: CloseDrawer.shape.reason,
})

/** The counted money; a form without a number is no count. */
function sumOfCount({ pieces, other }: z.infer<typeof Counting>): string | Refusal {
  const counts = [...NOTES, ...COINS].map((cents) => [cents, pieces?.[cents] ?? null] as const)
  if (typeof other !== 'string' && counts.every(([, count]) => count === null))
    return refuseField('other', 'conte o dinheiro; para uma gaveta vazia, digite 0')
  return fromCents(counts.reduce((sum, [cents, count]) => sum + cents * (count ?? 0), toCents(other ?? '0.00')))
}

const pieceFields = (group: string, values: readonly number[]): [string, Field][] =>
  values.map((cents, n) => [
    `pieces.${cents}`,
    { label: formatCents(cents), kind: integerInput, columns: 2, ...(n === 0 && { group }) },
  ])

const closePages = formPages({
  ...open,
  path: `${DRAWERS}/:id/fechar`,
  title: ({ name }: CashSessionObject) => `Fechar: ${name}`,
  label: 'Fechar gaveta',
  isDangerous: true,
  intro: () => <p>Conte quantas notas e moedas há de cada valor. Depois de fechada, a contagem não muda.</p>,
  fields: (): Fields => ({
    ...Object.fromEntries([...pieceFields('Notas', NOTES), ...pieceFields('Moedas', COINS)]),
    other: {
      ...{ label: 'Já somado (R$)', kind: amountInput, columns: 4, group: 'Outros valores' },
      hint: 'Soma com as notas e moedas acima.',
    },
    reason: note,
  }),
  schema: Counting,
  async act(submission, { id, session_id }, input) {
    const counted = sumOfCount(input)
    if (typeof counted !== 'string') return counted
    const closing = { ...newIds(submission), session_id, counted, reason: input.reason }
    return runAndRedirect(submission, closeDrawer, closing, { to: drawerPath(id), flash: 'gaveta-fechada' })
  },
})

const explainPages = formPages({
  ...common,
  access: ['see_all_sales', 'cash_sessions'],
  path: `${DRAWERS}/:id/explicar`,
  title: ({ name }: CashSessionObject) => `Explicar diferença: ${name}`,
  label: 'Explicar',
  obstacle: ({ by_payment_type }: CashSessionObject) =>
    by_payment_type.some(({ difference }) => (difference ?? '0.00') !== '0.00') ? null : 'Não há diferença a explicar.',
  fields: (): Fields => ({
    reason: {
      ...{ label: 'Motivo', kind: choiceInput(toOptions(DIFFERENCE_REASONS, differenceReason), 'Escolha…') },
      isRequired: true,
    },
    note: { label: 'Observação', kind: paragraphInput, columns: 12, hint: 'Obrigatória para “Outro motivo”.' },
  }),
  initial: ({ reason, note }: CashSessionObject) => ({ reason, note }),
  schema: DifferenceExplanation,
  act: (submission, { id, session_id }, input) =>
    runAndRedirect(
      submission,
      explainDifference,
      { session_id, ...input },
      { to: drawerPath(id), flash: 'diferenca-explicada' },
    ),
})

export const drawerPages: readonly PanelRoute[] = [
  ...openPages,
  ...movePages('in', 'suprimento', 'Suprimento', 'suprimento'),
  ...movePages('out', 'sangria', 'Sangria', 'sangria'),
  ...closePages,
  ...explainPages,
]
