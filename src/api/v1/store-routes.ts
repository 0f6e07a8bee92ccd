import * as z from 'zod'
import {
  CreatePaymentTypeInput,
  createPaymentType,
  PaymentTypeChanges,
  updatePaymentType,
} from '#commands/store-commands.ts'
import { inZone } from '#domain/instant.ts'
import { withId } from '#http/paths.ts'
import type { PaymentTypeObject, StoreObject } from '#projections/stores.ts'
import { getPaymentType, listPaymentTypes, listStores } from '#queries/company-queries.ts'
import { listTills } from '#queries/till-queries.ts'
import { PAYMENT_TYPE_FIELDS, PAYMENT_TYPE_STATE, STORE_FIELDS, STORE_STATE } from '#records/company-settings.ts'
import { answerShape, ContractRecordId, Timestamp } from '#records/field.ts'
import { commandRoute, type Route, readRoute } from '../api-route.ts'
import { warnedSchema } from '../contract/contract-document.ts'
import { getRoute } from './record-routes.ts'

const paymentTypeExample = {
  id: 1,
  name: 'Dinheiro',
  kind: 'cash',
  is_cash: true,
  fee_percentage: '0.00',
  accepts_api: true,
  due_days: 30,
  acquirer_rate: null,
  acquirer_rate_2_6: null,
  acquirer_rate_7_12: null,
  acquirer_fee_refunded: false,
  settles_in_days: null,
}

/** Request example of a payment type. */
const cardExample = { name: 'Crédito Visa', kind: 'card', acquirer_rate: '3.55', settles_in_days: 30 }

/** There are few, so the list has no pages. */
const PaymentType = z
  .strictObject({ id: ContractRecordId, ...answerShape({ ...PAYMENT_TYPE_FIELDS, ...PAYMENT_TYPE_STATE }) })
  .meta({ id: 'PaymentType', examples: [paymentTypeExample] }) satisfies z.ZodType<PaymentTypeObject>

/** Payment types of a company. */
export const paymentTypeRoutes: readonly Route[] = [
  readRoute({
    path: '/sales/payment-types',
    scope: 'sales:read',
    operation: 'listPaymentTypes',
    summary: 'Lista as formas de pagamento da empresa, também as que a API não aceita',
    reply: z.strictObject({ data: z.array(PaymentType) }),
    fromReplica: true,
    async read({ reader }) {
      const { data, revision } = await listPaymentTypes(reader)
      return { body: `{"data":[${data}]}`, revision }
    },
  }),
  getRoute({
    path: '/sales/payment-types/:id',
    scope: 'sales:read',
    operation: 'getPaymentType',
    summary: 'Mostra uma forma de pagamento',
    record: PaymentType,
    get: getPaymentType,
    fromReplica: true,
  }),
  commandRoute({
    method: 'post',
    path: '/sales/payment-types',
    scope: 'sales:write',
    operation: 'createPaymentType',
    summary: 'Cria uma forma de pagamento',
    description:
      '`fee_percentage` é um acréscimo embutido no valor pago; `acquirer_rate` é o que a operadora retém dele, e `settles_in_days` em quantos dias corridos ela paga o resto, ou cada parcela depois da anterior. Os dias que não são úteis passam ao seguinte. `acquirer_rate_2_6` e `acquirer_rate_7_12` valem para o parcelado; sem elas vale `acquirer_rate`.',
    body: CreatePaymentTypeInput.meta({ id: 'PaymentTypeInput' }),
    example: cardExample,
    reply: warnedSchema(PaymentType),
    refusals: ['duplicate_resource'],
    command: createPaymentType,
    input: (_params, body) => body,
  }),
  commandRoute({
    method: 'patch',
    path: '/sales/payment-types/:id',
    scope: 'sales:write',
    operation: 'updatePaymentType',
    summary: 'Altera uma forma de pagamento',
    description:
      'Vale para os pagamentos a partir de agora. Campos ausentes ficam como estão; `null` desfaz os opcionais.',
    body: PaymentTypeChanges.meta({ id: 'PaymentTypeChanges' }),
    example: { acquirer_rate: '3.20', settles_in_days: 14 },
    reply: warnedSchema(PaymentType),
    refusals: ['duplicate_resource'],
    command: updatePaymentType,
    target: { kind: 'payment_type' },
    input: (params, changes) => withId(params, changes),
  }),
]

const storeExample = {
  id: 1,
  alias: 'minha-loja',
  enabled: true,
  sandbox: false,
  registers_sales: true,
  commission_percentage: '5.00',
  has_access_token: true,
  has_notification_secret: true,
  created_at: '2026-11-21T08:17:15.123-03:00',
  updated_at: '2026-11-21T08:17:15.123-03:00',
}

/** There are few, so the list has no pages. */
const Store = z
  .strictObject({ id: ContractRecordId, ...answerShape({ ...STORE_FIELDS, ...STORE_STATE }) })
  .meta({ id: 'Store', examples: [storeExample] }) satisfies z.ZodType<Omit<StoreObject, 'connection'>>

const NumberRange = z.tuple([z.int().min(1), z.int().min(1)])

const tillExample = {
  id: 3,
  number: 3,
  name: 'Balcão',
  last_seen_at: '2026-11-21T08:17:15.123-03:00',
  last_number: 120,
  missing: [[119, 119]] as [number, number][],
}

/** There are few, so the list has no pages. */
const ListedTill = z
  .strictObject({
    id: ContractRecordId,
    number: z.int().min(1),
    name: z.string(),
    last_seen_at: Timestamp.nullable(),
    last_number: z.int().min(0),
    missing: z.array(NumberRange),
  })
  .meta({ id: 'Till', examples: [tillExample] })

/** Tills that number and sign what they record. */
export const tillRoutes: readonly Route[] = [
  readRoute({
    path: '/tills',
    scope: 'sales:read',
    operation: 'listTills',
    summary: 'Lista os caixas da empresa, com os números que não chegaram',
    description: 'Um caixa encerrado continua na lista: o que falta dele ainda pode chegar.',
    reply: z.strictObject({ data: z.array(ListedTill) }),
    async read({ reader, caller: { timezone } }) {
      const tills = await listTills(reader)
      const shown = tills.map(({ ended_at: _, last_seen_at, ...till }) => ({
        ...till,
        last_seen_at: last_seen_at && inZone(new Date(last_seen_at).toISOString(), timezone),
      }))
      return { body: JSON.stringify({ data: shown }) }
    },
  }),
]

/** Stores are opened and changed in the panel and by the operator. */
export const storeRoutes: readonly Route[] = [
  readRoute({
    path: '/stores',
    scope: 'orders:read',
    operation: 'listStores',
    summary: 'Lista as lojas online da empresa',
    reply: z.strictObject({ data: z.array(Store) }),
    async read({ reader, caller: { timezone } }) {
      const stores = await listStores(reader)
      const local = ({ connection: _, created_at, updated_at, ...store }: StoreObject) => ({
        ...store,
        created_at: inZone(created_at, timezone),
        updated_at: inZone(updated_at, timezone),
      })
      return { body: JSON.stringify({ data: stores.map(local) }) }
    },
  }),
]
