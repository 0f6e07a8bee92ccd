import * as z from 'zod'
import {
  documentsSince,
  ForgetInput,
  forgetPerson,
  type HoldingPeriod,
  holdingPeriod,
} from '#commands/forget-person.ts'
import { formatDay, formatTaxNumber, type PersonKind } from '#domain/person-values.ts'
import type { Refusal } from '#domain/refusals.ts'
import { searchKey } from '#domain/text.ts'
import type { ForgettingGround } from '#events/person-events.ts'
import { isRefusal } from '#ledger/command.ts'
import { getHolding } from '#privacy/erasures.ts'
import { choiceInput, lineInput, namedOptions, yesOrNoInput } from '../forms/input-kinds.ts'
import type { Fields } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { PageAction, PageContext, PanelRoute, Section } from '../panel-route.ts'
import { dataExportPath } from '../person-file.ts'
import { namesOfSubjects } from '../record-history.tsx'
import { formPages } from '../ui/form-pages.tsx'
import { Card } from '../ui/page-parts.tsx'
import { subjectName } from '../words/event-words.ts'
import { PAYABLE, PartyBalanceCard, RECEIVABLE } from './debtor-pages.tsx'
import { ORDERS_PATH } from './order-lists.tsx'

/** What still needs a person's data: the first records of each kind, and the number of all. */
interface PersonNeeds extends HoldingPeriod {
  readonly count: number
}

/** As the command decides; it looks again. */
async function loadPersonNeeds(
  { readModel, context }: PageContext,
  kind: PersonKind,
  id: number,
): Promise<PersonNeeds> {
  const { reader, today, timezone } = readModel
  const since = documentsSince(context.environment.retentionYears, today, timezone)
  const { needs, count } = await getHolding(reader, kind, id, since)
  return { ...holdingPeriod(needs, context.environment.retentionYears, timezone), count }
}

interface NamedNeed {
  readonly kind: string
  readonly id: number
}

/** Names of the records that need a person; an account is named by what it is for. */
async function namesOfNeeds(
  { readModel }: PageContext,
  needs: readonly NamedNeed[],
): Promise<(need: NamedNeed) => string> {
  const subjectOf = ({ kind, id }: NamedNeed) => `${kind}/${id}`
  const names = await namesOfSubjects(
    readModel,
    needs.map((need) => ({ subject: subjectOf(need) })),
  )
  return (need) => (need.kind === 'store_credit' ? 'Crédito de troca' : names(subjectOf(need)))
}

const PATHS = {
  sale: '/vendas',
  receivable: RECEIVABLE.accounts,
  payable: PAYABLE.accounts,
  order: ORDERS_PATH,
  // Its id is the customer's.
  store_credit: '/clientes',
} as const

const SIDES: { readonly [K in PersonKind]?: typeof RECEIVABLE } = { customer: RECEIVABLE, supplier: PAYABLE }

interface PersonNeedsProps {
  readonly visit: PageContext
  readonly kind: PersonKind
  readonly id: number
  readonly needs: PersonNeeds
}

/** Debts and other records that need the person, with links, before anything is erased. */
async function PersonNeedsCards({ visit, kind, id, needs: { needed_by, count, until, hasOpen } }: PersonNeedsProps) {
  const side = SIDES[kind]
  const isAccount = needed_by.some((need) => need.kind === 'receivable' || need.kind === 'payable')
  if (count === 0) return null
  const names = await namesOfNeeds(visit, needed_by)
  return (
    <>
      {side && isAccount && (await PartyBalanceCard({ visit, side, id }))}
      <Card title="Ainda precisam destes dados">
        <ul>
          {needed_by.map((need) => (
            <li key={`${need.kind}/${need.id}`}>
              <a href={link(`${PATHS[need.kind]}/${need.id}`)}>{names(need)}</a>
              {need.until === null ? ', em aberto' : `, documento fiscal até ${formatDay(need.until)}`}
            </li>
          ))}
        </ul>
        {count > needed_by.length && <p class="hint">{`E mais ${count - needed_by.length}.`}</p>}
        <p>{waitingText(until, hasOpen)}</p>
      </Card>
    </>
  )
}

/** What is erased when, if the erasure waits. */
function waitingText(until: string | null, hasOpen: boolean): string {
  const rest = until === null ? 'quando não houver mais nada em aberto' : `em ${formatDay(until)}`
  return hasOpen
    ? `Se você marcar essa opção, telefone, e-mail e observações ficam enquanto houver conta ou pedido em aberto, e o restante é excluído ${rest}.`
    : `Se você marcar essa opção, telefone, e-mail e observações são excluídos agora e o restante, ${rest}.`
}

const GROUNDS: Readonly<Record<Exclude<ForgettingGround, 'restored_backup'>, string>> = {
  holder_request: 'A pessoa pediu',
  consent_withdrawn: 'A pessoa retirou o consentimento',
  purpose_ended: 'Os dados não são mais necessários',
  unlawful: 'Os dados foram tratados indevidamente',
}

/** The fields of a record that these pages use. */
interface PersonRecord {
  readonly id: number
  readonly forgotten_at: string | null
}

interface ForgetPages<R extends PersonRecord> {
  /** Path of the record's page: `/clientes/:id`. */
  readonly path: string
  readonly section: Section
  readonly kind: PersonKind
  /** The erased data in the words of a shop. */
  readonly goes: string
  readonly stays: string
  /** Whether data with a legal retention can be queued for erasure. */
  readonly canWait: boolean
  recordOf(visit: PageContext): Promise<R | null>
  /** What tells the person from others. */
  personOf(record: R): { readonly name: string | null; readonly document?: string | null }
}

/** A record with what still needs its person. */
interface ErasablePerson {
  readonly id: number
  readonly isForgotten: boolean
  readonly name: string | null
  readonly document: string | null
  readonly needs: PersonNeeds
}

const LABEL = 'Excluir dados pessoais'

/** Link to the confirmation page while there is something to erase. */
export const forgetAction = (visit: PageContext, record: PersonRecord, to: string): PageAction | null =>
  record.forgotten_at === null && !visit.readModel.moment ? { label: LABEL, to: `${to}/esquecer` } : null

async function erasableOf<R extends PersonRecord>(
  pages: ForgetPages<R>,
  visit: PageContext,
): Promise<ErasablePerson | null> {
  const record = await pages.recordOf(visit)
  if (record === null) return null
  const { id, forgotten_at } = record
  const { name, document = null } = pages.personOf(record)
  const needs = await loadPersonNeeds(visit, pages.kind, id)
  return { id, isForgotten: forgotten_at !== null, name, document, needs }
}

const fieldsOf = (canWait: boolean, { name }: ErasablePerson): Fields => ({
  ground: { label: 'Motivo', kind: choiceInput(namedOptions(GROUNDS)), isRequired: true },
  reason: {
    label: 'Referência',
    kind: lineInput,
    hint: 'Ex.: número do protocolo. Fica guardado para sempre: não escreva dados da pessoa.',
  },
  ...(canWait && {
    queue: {
      label: 'Manter o que a lei exige e apagar automaticamente no fim do prazo',
      kind: yesOrNoInput,
      columns: 12,
    },
  }),
  ...(name && {
    confirm: {
      label: 'Confirme o nome da pessoa',
      hint: `Digite ${name}`,
      isRequired: true,
      kind: {
        ...lineInput,
        problem: (typed) => (searchKey(typed) === searchKey(name) ? null : 'não é o nome desta pessoa'),
      },
    },
  }),
})

/** The typed name is compared by its field. */
const ConfirmedForgetInput = ForgetInput.extend({ confirm: z.string().optional() })

interface RetentionDetails {
  readonly until: string | null
  readonly count: number
  readonly needed_by: readonly { readonly kind: string; readonly id: number }[]
}

/** What requires the person's data, and until when. */
async function neededText({ refused, details }: Refusal, visit: PageContext): Promise<string | undefined> {
  if (refused !== 'retention_required') return undefined
  const { until, count, needed_by } = details as unknown as RetentionDetails
  const named = needed_by.map(await namesOfNeeds(visit, needed_by)).join(', ')
  const more = count > needed_by.length ? ` e mais ${count - needed_by.length}` : ''
  return `Estes registros ainda precisam dos dados: ${named}${more}${until === null ? '' : `, até ${formatDay(until)}`}. Nada foi excluído.`
}

/** Confirmation page of an erasure: whom it concerns, what is erased, what remains and what still needs it. */
export const forgetPages = <R extends PersonRecord>(pages: ForgetPages<R>): PanelRoute[] => {
  const { kind, canWait } = pages
  const back = ({ id }: ErasablePerson) => pages.path.replace(':id', String(id))
  return formPages({
    path: `${pages.path}/esquecer`,
    section: pages.section,
    access: 'erase_people',
    subject: (visit) => erasableOf(pages, visit),
    obstacle: ({ isForgotten }) => (isForgotten ? 'Os dados pessoais já foram excluídos.' : null),
    title: ({ id, name, document }) =>
      `${LABEL} de ${name ?? subjectName(`${kind}/${id}`)}${document ? ` (${formatTaxNumber(document)})` : ''}`,
    before: ({ id, needs }, visit) => PersonNeedsCards({ visit, kind, id, needs }),
    intro: ({ id }) => (
      <>
        <p>
          <strong>Esta ação não pode ser desfeita.</strong> {pages.goes} Isso vale para todo o sistema, inclusive o
          histórico.
        </p>
        <p>{pages.stays}</p>
        <p>
          Se a pessoa também pediu os seus dados, baixe-os antes:{' '}
          <a href={link(dataExportPath({ kind, id }, 'html'))}>como página</a> ou{' '}
          <a href={link(dataExportPath({ kind, id }, 'json'))}>como JSON</a>.
        </p>
      </>
    ),
    label: LABEL,
    isDangerous: true,
    back,
    fields: (person) => fieldsOf(canWait, person),
    schema: ConfirmedForgetInput,
    problem: neededText,
    async act(submission, person, { confirm: _, ...input }) {
      const { retentionYears: retention_years } = submission.context.environment
      const answer = await submission.run(forgetPerson, { kind, id: person.id, ...input, retention_years })
      if (isRefusal(answer)) return answer
      return { to: back(person), flash: answer.outcome === 'queued' ? 'esquecimento-marcado' : 'esquecida' }
    },
  })
}
