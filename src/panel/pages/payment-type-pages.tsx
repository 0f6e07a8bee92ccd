import { CreatePaymentTypeInput, createPaymentType, updatePaymentType } from '#commands/store-commands.ts'
import { type Command, isRefusal } from '#ledger/command.ts'
import type { PaymentTypeObject } from '#projections/stores.ts'
import { getPaymentType, listPaymentTypes } from '#queries/company-queries.ts'
import { PAYMENT_KIND_NAMES, PAYMENT_TYPE_DEFAULTS, PAYMENT_TYPE_FIELDS } from '#records/company-settings.ts'
import { choiceInput, namedOptions } from '../forms/input-kinds.ts'
import { link } from '../page-context.ts'
import type { FormSubmission, PageContext, PanelRoute } from '../panel-route.ts'
import { fieldColumns, fieldInputs } from '../record-fields.ts'
import { formPages } from '../ui/form-pages.tsx'
import { ListTable } from '../ui/list-table.tsx'
import { PanelBadge } from '../ui/page-parts.tsx'
import { recordsOnPage } from '../ui/panel-list.tsx'
import { Duplicate, loadRecord, type RecordPages, toSavedRecord } from '../ui/record-pages.tsx'
import type { FlashCode } from '../words/message-words.ts'

const HOME = '/configuracoes'
export const PAYMENT_TYPES_PATH = `${HOME}/formas-de-pagamento`
const at = { section: 'settings', access: 'manage_company' } as const

/** The kind of the online store's payment type is fixed: it is made with the store. */
const { online: _, ...CHOSEN_KINDS } = PAYMENT_KIND_NAMES

const FIELDS = fieldInputs(PAYMENT_TYPE_FIELDS, {
  name: {},
  kind: { kind: choiceInput(namedOptions(CHOSEN_KINDS)) },
  fee_percentage: {},
  due_days: {},
  acquirer_rate: {},
  acquirer_rate_2_6: {},
  acquirer_rate_7_12: {},
  acquirer_fee_refunded: { label: 'A operadora devolve a taxa do que volta ao cartão' },
  settles_in_days: {},
})

const { kind: __, ...FIELDS_OF_STORES } = FIELDS

/** A page, and what chooses one, has the first of them; a shop has fewer. */
const MOST_SHOWN = 200

/** Ways to pay, in order. */
export async function loadPaymentTypes({ readModel }: Pick<PageContext, 'readModel'>): Promise<PaymentTypeObject[]> {
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
  const saved = toSavedRecord(`${PAYMENT_TYPES_PATH}/${(answer.record as PaymentTypeObject).id}`, flash, answer)
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
    initial: () => PAYMENT_TYPE_DEFAULTS,
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

interface PaymentTypeTableProps {
  readonly paymentTypes: readonly PaymentTypeObject[]
  readonly timezone: string
}

export const PaymentTypeTable = ({ paymentTypes, timezone }: PaymentTypeTableProps) => (
  <>
    <ListTable
      isList
      caption="Formas de pagamento"
      rows={paymentTypes}
      empty="Nenhuma forma de pagamento ainda. Crie as que a loja aceita, como dinheiro e Pix."
      columns={fieldColumns<PaymentTypeObject, typeof PAYMENT_TYPE_FIELDS>(PAYMENT_TYPE_FIELDS, timezone, [
        { field: 'name', cell: ({ id, name }) => <a href={link(`${PAYMENT_TYPES_PATH}/${id}`)}>{name}</a> },
        'kind',
        { field: 'fee_percentage', isExtra: true },
        'acquirer_rate',
        {
          field: 'settles_in_days',
          head: 'Recebe em',
          cell: ({ settles_in_days: days }) => days !== null && (days === 1 ? '1 dia' : `${days} dias`),
          isExtra: true,
        },
        {
          field: 'due_days',
          head: 'Prazo',
          cell: ({ kind, due_days }) => (kind === 'credit_account' ? `${due_days} dias` : null),
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
      ])}
    />
    {paymentTypes.length === MOST_SHOWN && <p class="hint">{`São mostradas as primeiras ${MOST_SHOWN}.`}</p>}
  </>
)
