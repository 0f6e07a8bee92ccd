import { CreatePaymentTypeInput, createPaymentType, updatePaymentType } from '#commands/store-commands.ts'
import { formatPercentage } from '#domain/person-values.ts'
import type { PaymentKind } from '#events/company-events.ts'
import { type Command, isRefusal } from '#ledger/command.ts'
import type { PaymentTypeObject } from '#projections/stores.ts'
import { getPaymentType, listPaymentTypes } from '#queries/company-queries.ts'
import { choiceInput, integerInput, lineInput, namedOptions, percentInput, yesOrNoInput } from '../forms/input-kinds.ts'
import type { Fields } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { FormSubmission, PageContext, PanelRoute } from '../panel-route.ts'
import { formPages } from '../ui/form-pages.tsx'
import { PanelBadge } from '../ui/page-parts.tsx'
import { ListTable, recordsOnPage } from '../ui/panel-list.tsx'
import { Duplicate, loadRecord, type RecordPages, savedAt } from '../ui/record-pages.tsx'
import type { FlashCode } from '../words/message-words.ts'

const PAYMENT_KIND_NAMES: Readonly<Record<PaymentKind, string>> = {
  cash: 'Dinheiro',
  card: 'Cartão',
  pix: 'Pix',
  transfer: 'Transferência',
  credit_account: 'Crediário ou convênio (a prazo)',
  exchange_credit: 'Crédito de troca',
  promotion: 'Promoção',
  cashback: 'Cashback',
  online: 'Loja online',
  other: 'Outra',
}

const HOME = '/configuracoes'
export const PAYMENT_TYPES_PATH = `${HOME}/formas-de-pagamento`
const at = { section: 'settings', access: 'manage_company' } as const

/** The kind of the online store's payment type is fixed: it is made with the store. */
const { online: _, ...CHOSEN_KINDS } = PAYMENT_KIND_NAMES

const FIELDS: Fields = {
  name: { label: 'Nome', kind: lineInput, isRequired: true },
  kind: {
    label: 'Tipo',
    kind: choiceInput(namedOptions(CHOSEN_KINDS)),
    isRequired: true,
    hint: 'Crediário, crédito de troca, promoção e cashback só o ponto de venda usa.',
  },
  fee_percentage: {
    label: 'Acréscimo embutido (%)',
    kind: percentInput,
    isRequired: true,
    hint: 'O que a loja cobra a mais nesta forma e que já vem dentro do valor pago.',
  },
  due_days: {
    label: 'Prazo (dias)',
    kind: integerInput,
    isRequired: true,
    hint: 'Só para o crediário: quando vence a conta a receber.',
  },
  acquirer_rate: {
    label: 'Taxa da operadora (%)',
    kind: percentInput,
    hint: 'O que a operadora da maquininha desconta do valor pago. Deixe em branco se não houver.',
  },
  acquirer_rate_2_6: {
    label: 'Taxa de 2 a 6 parcelas (%)',
    kind: percentInput,
    hint: 'Se vazio, vale a taxa da operadora.',
  },
  acquirer_rate_7_12: {
    label: 'Taxa de 7 parcelas em diante (%)',
    kind: percentInput,
    hint: 'Se vazio, vale a taxa da operadora.',
  },
  acquirer_fee_refunded: {
    label: 'A operadora devolve a taxa do que volta ao cartão',
    kind: yesOrNoInput,
  },
  settles_in_days: {
    label: 'A operadora paga em (dias)',
    kind: integerInput,
    hint: 'Dias corridos até o dinheiro cair na conta da loja, e de uma parcela à outra. Deixe em branco se não houver.',
  },
}

const { kind: __, ...FIELDS_OF_STORES } = FIELDS

/** A page, and what chooses one, has the first of them; a shop has fewer. */
const MOST_SHOWN = 200

/** Ways to pay, in order. */
export async function paymentTypesOf({ readModel }: Pick<PageContext, 'readModel'>): Promise<PaymentTypeObject[]> {
  return recordsOnPage(await listPaymentTypes(readModel.reader, MOST_SHOWN))
}

const pages: Pick<RecordPages<PaymentTypeObject>, 'path' | 'get' | 'nameOf'> = {
  path: PAYMENT_TYPES_PATH,
  get: ({ readModel: { reader } }, id) => getPaymentType(reader, id),
  nameOf: ({ name }) => name,
}

const paymentTypeOf = (visit: PageContext): Promise<PaymentTypeObject | null> => loadRecord(visit, pages.get)

/** Saves it; then all of them, or the one that seems to repeat another. */
async function save<I>(submission: FormSubmission, command: Command<I>, input: I, flash: FlashCode) {
  const answer = await submission.run(command, input)
  if (isRefusal(answer)) return answer
  const saved = savedAt(`${PAYMENT_TYPES_PATH}/${(answer.record as PaymentTypeObject).id}`, flash, answer)
  return saved.parameters ? saved : { to: HOME, flash }
}

/** Payment types: create, and change for later payments. */
export const paymentTypePages: readonly PanelRoute[] = [
  ...formPages({
    ...at,
    path: `${PAYMENT_TYPES_PATH}/nova`,
    subject: () => ({}),
    title: () => 'Nova forma de pagamento',
    label: 'Criar',
    back: () => HOME,
    fields: () => FIELDS,
    initial: () => ({ fee_percentage: '0.00', due_days: 30 }),
    schema: CreatePaymentTypeInput,
    act: (submission, _, input) => save(submission, createPaymentType, input, 'criado'),
  }),
  ...formPages({
    ...at,
    path: `${PAYMENT_TYPES_PATH}/:id`,
    subject: paymentTypeOf,
    title: ({ name }) => `Editar ${name}`,
    before: (_, visit) => Duplicate({ pages, visit }),
    intro: () => <p>Vale para os próximos pagamentos; os já feitos ficam como estão.</p>,
    label: 'Salvar',
    back: () => HOME,
    fields: ({ kind }) => (kind === 'online' ? FIELDS_OF_STORES : FIELDS),
    initial: (paymentType) => paymentType,
    schema: CreatePaymentTypeInput.partial({ kind: true }),
    act: (submission, { id }, input) => save(submission, updatePaymentType, { id, ...input }, 'alterado'),
  }),
]

export const PaymentTypeTable = ({ paymentTypes }: { readonly paymentTypes: readonly PaymentTypeObject[] }) => (
  <>
    <ListTable
      isList
      caption="Formas de pagamento"
      rows={paymentTypes}
      empty="Nenhuma forma de pagamento ainda."
      columns={[
        { head: 'Nome', cell: ({ id, name }) => <a href={link(`${PAYMENT_TYPES_PATH}/${id}`)}>{name}</a> },
        { head: 'Tipo', cell: ({ kind }) => PAYMENT_KIND_NAMES[kind] },
        {
          head: 'Acréscimo embutido',
          cell: ({ fee_percentage }) => formatPercentage(fee_percentage),
          isNumber: true,
          isExtra: true,
        },
        {
          head: 'Taxa da operadora',
          cell: ({ acquirer_rate }) => acquirer_rate && formatPercentage(acquirer_rate),
          isNumber: true,
        },
        {
          head: 'Recebe em',
          cell: ({ settles_in_days: days }) => days !== null && (days === 1 ? '1 dia' : `${days} dias`),
          isNumber: true,
          isExtra: true,
        },
        {
          head: 'Prazo',
          cell: ({ kind, due_days }) => (kind === 'credit_account' ? `${due_days} dias` : null),
          isNumber: true,
        },
        {
          head: 'API',
          cell: ({ accepts_api, kind }) =>
            accepts_api ? (
              <PanelBadge tone="good">Aceita</PanelBadge>
            ) : (
              <PanelBadge tone="plain">{kind === 'online' ? 'Só na loja online' : 'Só no ponto de venda'}</PanelBadge>
            ),
        },
      ]}
    />
    {paymentTypes.length === MOST_SHOWN && <p class="hint">{`São mostradas as primeiras ${MOST_SHOWN}.`}</p>}
  </>
)
