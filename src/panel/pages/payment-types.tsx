import { CreatePaymentTypeInput, createPaymentType, updatePaymentType } from '#commands/payment-types.ts'
import type { PaymentKind } from '#events/companies.ts'
import { pathId } from '#http/paths.ts'
import type { PaymentTypeObject } from '#projections/payment-types.ts'
import { listPaymentTypes } from '#queries/payment-types.ts'
import { percentage } from '../format.ts'
import type { Fields } from '../forms/form.ts'
import { choice, integer, line, namedOptions, percent } from '../forms/kinds.ts'
import { link } from '../link.ts'
import type { PanelRoute, Visit } from '../route.ts'
import { formPages, runAndRedirect } from '../ui/form-pages.tsx'
import { recordsIn, Table } from '../ui/list.tsx'
import { Badge } from '../ui/parts.tsx'

const PAYMENT_KIND_NAMES: Readonly<Record<PaymentKind, string>> = {
  cash: 'Dinheiro',
  card: 'Cartão',
  pix: 'Pix',
  transfer: 'Transferência',
  credit_account: 'Crediário ou convênio (a prazo)',
  exchange_credit: 'Crédito de troca',
  promotion: 'Promoção',
  cashback: 'Cashback',
  other: 'Outra',
}

const HOME = '/configuracoes'
export const PAYMENT_TYPES_PATH = `${HOME}/formas-de-pagamento`
const at = { section: 'settings', access: 'owner' } as const

const FIELDS: Fields = {
  name: { label: 'Nome', kind: line, isRequired: true },
  kind: {
    label: 'Tipo',
    kind: choice(namedOptions(PAYMENT_KIND_NAMES)),
    isRequired: true,
    hint: 'Crediário, crédito de troca, promoção e cashback só o ponto de venda usa.',
  },
  fee_percentage: {
    label: 'Taxa (%)',
    kind: percent,
    isRequired: true,
    hint: 'O que a operadora cobra, e que já vem dentro do valor pago.',
  },
  due_days: {
    label: 'Prazo (dias)',
    kind: integer,
    isRequired: true,
    hint: 'Só para o crediário: quando vence a conta a receber.',
  },
}

/** All payment types, in order. */
export async function paymentTypesOf({ readModel }: Visit): Promise<PaymentTypeObject[]> {
  return recordsIn(await listPaymentTypes(readModel.pool, readModel.companyId))
}

async function paymentTypeOf(visit: Visit): Promise<PaymentTypeObject | null> {
  const id = pathId(visit.params.id)
  return (await paymentTypesOf(visit)).find((one) => one.id === id) ?? null
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
    act: (submission, _, input) => runAndRedirect(submission, createPaymentType, input, { to: HOME, flash: 'criado' }),
  }),
  ...formPages({
    ...at,
    path: `${PAYMENT_TYPES_PATH}/:id`,
    subject: paymentTypeOf,
    title: ({ name }) => `Editar ${name}`,
    intro: () => <p>Vale para os pagamentos a partir de agora; os já feitos ficam como estão.</p>,
    label: 'Salvar',
    back: () => HOME,
    fields: () => FIELDS,
    initial: (paymentType) => paymentType,
    schema: CreatePaymentTypeInput,
    act: (submission, { id }, input) =>
      runAndRedirect(submission, updatePaymentType, { id, ...input }, { to: HOME, flash: 'alterado' }),
  }),
]

export const PaymentTypeTable = ({ paymentTypes }: { readonly paymentTypes: readonly PaymentTypeObject[] }) => (
  <>
    <Table
      isList
      caption="Formas de pagamento"
      rows={paymentTypes}
      empty="Nenhuma forma de pagamento ainda."
      columns={[
        { head: 'Nome', cell: ({ id, name }) => <a href={link(`${PAYMENT_TYPES_PATH}/${id}`)}>{name}</a> },
        { head: 'Tipo', cell: ({ kind }) => PAYMENT_KIND_NAMES[kind] },
        { head: 'Taxa', cell: ({ fee_percentage }) => percentage(fee_percentage), isNumber: true },
        {
          head: 'Prazo',
          cell: ({ kind, due_days }) => (kind === 'credit_account' ? `${due_days} dias` : null),
          isNumber: true,
        },
        {
          head: 'API',
          cell: ({ accepts_api }) =>
            accepts_api ? <Badge tone="good">Aceita</Badge> : <Badge tone="plain">Só no ponto de venda</Badge>,
        },
      ]}
    />
  </>
)
