import * as z from 'zod'
import type { ZodOpenApiOperationObject } from 'zod-openapi'
import { refusalOf } from '#api/contract/errors.ts'
import { Alias } from '#commands/stores.ts'
import { ORDER_STATUSES } from '#domain/orders.ts'
import { Id } from '#domain/text.ts'
import { httpStatusOf, type ProblemCode } from '#http/problems.ts'
import { groupBy } from '#lib/group-by.ts'
import { PaymentNotification } from '#payment-notifications/payload.ts'

/** What the receiver answers besides 200. */
const RECEIVER_CODES = [
  'malformed_json',
  'invalid_notification',
  'invalid_signature',
  'not_found',
  'request_timeout',
  'payload_too_large',
  'unsupported_media_type',
  'rate_limited',
  'internal_error',
  'provider_configuration_invalid',
  'unavailable',
] as const satisfies readonly ProblemCode[]

const JSON_TYPE = 'application/json'

const NotificationAnswer = z
  .object({
    processed: z.boolean(),
    order_id: z.int().positive(),
    /** `ignored`: of the provider's older format. */
    status: z.enum([...ORDER_STATUSES, 'ignored']),
    message: z.string(),
  })
  .meta({
    id: 'NotificationAnswer',
    examples: [{ processed: true, order_id: 42, status: 'paid', message: 'Notificação processada.' }],
  })

const example = {
  id: 12345,
  live_mode: false,
  type: 'payment',
  date_created: '2026-11-21T11:17:15.000Z',
  user_id: '44444',
  api_version: 'v1',
  action: 'payment.updated',
  data: { id: '999999999' },
}

/** Path of the receiver in a contract, below the root of the service. */
export const RECEIVER_PATH = '/webhook/paymentprovider/{store_alias}/{order_id}'

/** Contract of the receiver of payment notifications; `headersOf` gives the headers of an answer. */
export const receiverOperation = (
  tag: string,
  headersOf: (status: number) => z.ZodObject,
): ZodOpenApiOperationObject => ({
  operationId: 'receivePaymentNotification',
  tags: [tag],
  summary: 'Recebe uma notificação do provedor de pagamentos',
  description:
    'Chamada pelo provedor, não por integradores. Só o id do pagamento é usado: o pagamento é consultado no provedor. Notificações de outro tipo, ou de outro modo (`live_mode`), recebem 200 com `processed: false`; as do formato antigo (IPN) também, com `status` `ignored`. Lojas com segredo exigem `x-signature`.',
  security: [],
  requestParams: {
    path: z.object({ store_alias: Alias, order_id: Id }),
    query: z.object({
      topic: z.string().optional().describe('Só no formato antigo do provedor (IPN), que não é processado.'),
      id: z.string().optional().describe('Só no formato antigo do provedor (IPN).'),
      type: z.string().optional().describe('Do provedor; sem corpo, é do formato antigo (IPN).'),
      'data.id': z.string().optional().describe('Do provedor; sem corpo, é do formato antigo (IPN).'),
    }),
    header: z.object({ 'x-signature': z.string().optional().describe('`ts=…,v1=…`, a assinatura do provedor.') }),
  },
  requestBody: {
    // Absent in the provider's older format.
    required: false,
    content: { [JSON_TYPE]: { schema: PaymentNotification.meta({ id: 'Notification' }), example } },
  },
  responses: {
    200: {
      description: 'Recebida.',
      headers: headersOf(200),
      content: { [JSON_TYPE]: { schema: NotificationAnswer } },
    },
    ...Object.fromEntries(
      [...groupBy(RECEIVER_CODES, httpStatusOf)].map(([status, codes]) => [
        status,
        refusalOf(codes, headersOf(status)),
      ]),
    ),
  },
})
