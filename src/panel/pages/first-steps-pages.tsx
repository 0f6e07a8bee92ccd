import * as z from 'zod'
import { createCategory } from '#commands/catalog-commands.ts'
import { updateCompany } from '#commands/company-commands.ts'
import { type CreatePaymentTypeInput, createPaymentType, updatePaymentType } from '#commands/store-commands.ts'
import { normalizePercentage, Percentage } from '#domain/money.ts'
import type { Refusal } from '#domain/refusals.ts'
import { limitedText, nameText } from '#domain/text.ts'
import { BUSINESS_TYPES, type BusinessType } from '#events/company-events.ts'
import { type Invocation, invoke, isRefusal } from '#ledger/command.ts'
import { runList } from '#ledger/write/run.ts'
import type { PaymentTypeObject } from '#projections/stores.ts'
import { type FirstSteps, firstSteps } from '#queries/company-queries.ts'
import {
  BUSINESS_SUGGESTIONS,
  BUSINESS_TYPE_NAMES,
  PAYMENT_TYPE_DEFAULTS,
  USUAL_RATES,
} from '#records/company-settings.ts'
import { choicesInput, paragraphInput, percentInput, toOptions } from '../forms/input-kinds.ts'
import type { Fields } from '../forms/panel-form.ts'
import { FIRST_STEPS_PATH, link, TILL_PATH } from '../page-context.ts'
import type { FormSubmission, PageContext, PanelPage, PanelRoute, Redirect } from '../panel-route.ts'
import { formPages } from '../ui/form-pages.tsx'
import { Card, type StepItem, Steps } from '../ui/page-parts.tsx'
import { loadPaymentTypes } from './payment-type-pages.tsx'

const TYPES_PATH = `${FIRST_STEPS_PATH}/negocio`

/** Each step ends where it leads; none is done by what the service made by itself. */
const stepsOf = (steps: FirstSteps): StepItem[] => [
  {
    label: 'Dizer o que a loja vende',
    to: TYPES_PATH,
    isDone: steps.has_business,
    hint: 'Formas de pagamento, taxas e categorias já vêm sugeridas.',
  },
  {
    label: 'Completar os dados da loja',
    to: '/configuracoes/empresa',
    isDone: steps.has_data,
    hint: 'Saem no recibo.',
  },
  { label: 'Cadastrar o primeiro produto', to: '/catalogo/novo', isDone: steps.has_item },
  {
    label: 'Fazer a primeira venda no caixa',
    href: TILL_PATH,
    isDone: steps.has_sale,
    hint: 'O caixa abre neste navegador, com o seu e-mail e a sua senha.',
  },
  {
    label: 'Receber pela internet com o Mercado Pago',
    to: '/loja/lojas/nova',
    isDone: steps.has_store,
    hint: 'Só se a loja vende pela internet ou por link de pagamento.',
  },
]

/** On the start page until the first sale. */
export const FirstStepsCard = ({ steps }: { readonly steps: FirstSteps }) =>
  steps.has_sale ? null : <Steps title="Primeiros passos" steps={stepsOf(steps)} />

async function showSteps({ readModel }: PageContext): Promise<PanelPage> {
  const steps = stepsOf(await firstSteps(readModel.reader))
  const isDone = steps.every((step) => step.isDone)
  const body = isDone ? <p>Todos os passos foram dados.</p> : <Steps title="O que falta" steps={steps} />
  return { title: 'Primeiros passos', body }
}

const isBusinessType = (text: string | undefined): text is BusinessType =>
  (BUSINESS_TYPES as readonly (string | undefined)[]).includes(text)

const showTypes = (): PanelPage => ({
  title: 'O que a loja vende?',
  parent: { label: 'Primeiros passos', to: FIRST_STEPS_PATH },
  body: (
    <Card title="Tipo de negócio">
      <ul class="todo">
        {BUSINESS_TYPES.map((type) => (
          <li key={type}>
            <a href={link(`${TYPES_PATH}/${type}`)}>{BUSINESS_TYPE_NAMES[type]}</a>
          </li>
        ))}
      </ul>
    </Card>
  ),
})

const WAYS = ['Dinheiro', 'Pix', 'Cartão de débito', 'Cartão de crédito'] as const
type Way = (typeof WAYS)[number] | (typeof BUSINESS_SUGGESTIONS)[BusinessType]['ways'][number]

const offeredWays = (type: BusinessType): readonly Way[] => [...WAYS, ...BUSINESS_SUGGESTIONS[type].ways]

const rate = (label: string) => ({ label: `${label} (%)`, kind: percentInput, columns: 4 }) as const

function fieldsOf(type: BusinessType): Fields {
  const ways = offeredWays(type)
  const hasVouchers = ways.some((way) => way.startsWith('Vale'))
  return {
    ways: {
      label: 'Formas de pagamento',
      kind: choicesInput(toOptions(ways, (way) => way)),
      columns: 12,
    },
    debit_rate: rate('Taxa do débito'),
    credit_rate: rate('Taxa do crédito à vista'),
    credit_rate_2_6: rate('Crédito em 2 a 6 parcelas'),
    credit_rate_7_12: rate('Crédito em 7 a 12 parcelas'),
    ...(hasVouchers && { voucher_rate: rate('Taxa dos vales') }),
    categories: {
      label: 'Categorias, uma por linha',
      kind: paragraphInput,
      columns: 12,
      hint: 'Apague as que não servem e escreva as suas.',
    },
  }
}

const MOST_CATEGORIES = 50
const TOO_MANY = `no máximo ${MOST_CATEGORIES} linhas`

const Rate = Percentage.transform(normalizePercentage).nullish()
const Category = nameText(60)

const Chosen = z.object({
  ways: z.array(z.string().max(40)).max(10),
  debit_rate: Rate,
  credit_rate: Rate,
  credit_rate_2_6: Rate,
  credit_rate_7_12: Rate,
  voucher_rate: Rate,
  categories: limitedText(5_000)
    .nullish()
    .transform((text) =>
      [...new Set((text ?? '').split('\n').map((line) => line.trim()))].filter((line) => line !== ''),
    )
    .pipe(z.array(Category).max(MOST_CATEGORIES, TOO_MANY)),
})
type Chosen = z.infer<typeof Chosen>

/** Days until acquirers pay, where nothing else was agreed. */
const USUAL_DAYS = { debit: 1, credit: 30 }

function paymentTypeFor(way: Way, rates: Chosen): CreatePaymentTypeInput {
  const plain = { name: way, ...PAYMENT_TYPE_DEFAULTS }
  const card = { ...plain, kind: 'card' as const }
  switch (way) {
    case 'Dinheiro':
      return { ...plain, kind: 'cash' }
    case 'Pix':
      return { ...plain, kind: 'pix' }
    case 'Crediário':
      return { ...plain, kind: 'credit_account' }
    case 'Cartão de débito':
      return { ...card, acquirer_rate: rates.debit_rate, settles_in_days: USUAL_DAYS.debit }
    case 'Cartão de crédito':
      return {
        ...card,
        acquirer_rate: rates.credit_rate,
        acquirer_rate_2_6: rates.credit_rate_2_6,
        acquirer_rate_7_12: rates.credit_rate_7_12,
        settles_in_days: USUAL_DAYS.credit,
      }
    default:
      return { ...card, acquirer_rate: rates.voucher_rate, settles_in_days: USUAL_DAYS.credit }
  }
}

/** Of a way that exists, only what it lacks is filled in. */
function paymentTypeStep(way: Way, rates: Chosen, known: readonly PaymentTypeObject[]): Invocation | null {
  const wanted = paymentTypeFor(way, rates)
  const existing = known.find(({ name }) => name === way)
  if (!existing) return invoke(createPaymentType, wanted)
  if (existing.kind !== 'card' || existing.acquirer_rate !== null || !wanted.acquirer_rate) return null
  const { name: _, kind: __, fee_percentage: ___, due_days: ____, ...terms } = wanted
  return invoke(updatePaymentType, { id: existing.id, ...terms })
}

/** As one request: what the shop has already is left as it is. */
async function setUp(submission: FormSubmission, type: BusinessType, chosen: Chosen): Promise<Redirect | Refusal> {
  const known = await loadPaymentTypes(submission)
  const ways = offeredWays(type).filter((way) => chosen.ways.includes(way))
  const invocations = [
    invoke(updateCompany, { business_type: type }),
    ...ways.flatMap((way) => paymentTypeStep(way, chosen, known) ?? []),
    ...chosen.categories.map((name) => invoke(createCategory, { name })),
  ]
  const results = await runList(submission.context.writer, submission.acting, invocations, {
    idempotency: submission.idempotency(),
  })
  if (isRefusal(results)) return results
  const refused = results.find((result) => isRefusal(result) && result.refused !== 'duplicate_resource')
  return refused && isRefusal(refused) ? refused : { to: FIRST_STEPS_PATH, flash: 'negocio-escolhido' }
}

const at = { section: 'start', access: ['see_company', 'manage_company', 'edit_catalog'] } as const

/** From an empty company to its first sale. */
export const firstStepsPages: readonly PanelRoute[] = [
  { ...at, path: FIRST_STEPS_PATH, changes: true, show: showSteps },
  { ...at, path: TYPES_PATH, changes: true, show: async () => showTypes() },
  ...formPages({
    ...at,
    path: `${TYPES_PATH}/:tipo`,
    subject: ({ params: { tipo } }) => (isBusinessType(tipo) ? { type: tipo } : null),
    title: ({ type }) => BUSINESS_TYPE_NAMES[type],
    label: 'Usar estas',
    back: () => TYPES_PATH,
    intro: ({ type }) => (
      <p>
        {`As taxas são exemplos: confira no contrato da maquininha. O que a loja já tem fica como está. Nos produtos serão sugeridas as unidades ${BUSINESS_SUGGESTIONS[type].units.join(', ')}.`}
      </p>
    ),
    fields: ({ type }) => fieldsOf(type),
    initial: ({ type }) => ({
      ways: offeredWays(type),
      ...USUAL_RATES,
      categories: BUSINESS_SUGGESTIONS[type].categories.join('\n'),
    }),
    schema: Chosen,
    act: (submission, { type }, chosen) => setUp(submission, type, chosen),
  }),
]
