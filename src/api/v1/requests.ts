import * as z from 'zod'
import { limitedText } from '#domain/text.ts'
import { asInteger, QueryInstant } from '#http/query-values.ts'
import { ErrorCode, getRequest, listRequests, REQUEST_METHODS, RequestPath } from '#queries/requests.ts'
import { pageSchemaOf, singleOf } from '../contract/envelopes.ts'
import { ContractRecordId, NullableText, Timestamp } from '../contract/formats.ts'
import { type Route, readRoute } from '../route.ts'
import { answerPage, answerRecord, pageQuery } from './record-routes.ts'

const callExample = {
  request_id: '019aa5c2-6c1d-7a31-8a55-0f2f2b7c9d10',
  at: '2026-11-21T08:17:15.123-03:00',
  api_key_id: 7,
  method: 'POST',
  path: '/sales',
  query: null,
  status: 422,
  code: 'payment_mismatch',
  duration_ms: 12,
  replayed: false,
  traceparent: null,
}

const callShape = {
  request_id: z.uuid(),
  at: Timestamp,
  api_key_id: ContractRecordId,
  method: z.string(),
  path: z.string(),
  query: NullableText,
  status: z.int().nullable(),
  code: NullableText,
  duration_ms: z.int().min(0),
  replayed: z.boolean(),
  traceparent: NullableText,
}

/** A logged API request (queries/requests.ts). */
const Call = z.strictObject(callShape).meta({ id: 'Call', examples: [callExample] })

const CallWithBody = z
  .strictObject({ ...callShape, body: z.unknown(), details: z.record(z.string(), z.unknown()).nullable() })
  .meta({
    id: 'CallWithBody',
    examples: [
      {
        ...callExample,
        body: { items: [{ catalog_item_id: 4, quantity: '2' }], payments: [{ payment_type_id: 1, amount: '19.00' }] },
        details: { total: '19.80', paid: '19.00' },
      },
    ],
  })

const STATUS = 'deve ser um status, como 422, ou uma classe deles, como 4xx'

const scope = 'audit:read'
const kept =
  'As chamadas são guardadas por 7 dias. Do que foi enviado fica só o que não é pessoal nem segredo: o resto aparece como `(retido)`.'

/** The request log of a company (KIT-50, KIT-51). */
export const requestRoutes: readonly Route[] = [
  readRoute({
    path: '/requests',
    scope,
    operation: 'listRequests',
    summary: 'Lista as chamadas da empresa à API, da mais nova à mais antiga',
    description: `De todas as chaves da empresa. ${kept}`,
    query: pageQuery({
      api_key_id: limitedText(20)
        .regex(/^[1-9]\d{0,14}$/, 'deve ser o id de uma chave')
        .transform(Number)
        .meta({ override: asInteger({ minimum: 1 }) })
        .optional(),
      method: z.enum(REQUEST_METHODS).optional(),
      status: limitedText(10, STATUS)
        .regex(/^[1-5](xx|\d\d)$/, STATUS)
        .meta({ description: 'Só chamadas com este status, ou desta classe: `422`, `4xx`.' })
        .optional(),
      code: ErrorCode.optional(),
      path: RequestPath.optional(),
      since: QueryInstant.meta({ description: 'Só o que começou neste momento ou depois.' }).optional(),
      until: QueryInstant.optional(),
    }),
    reply: pageSchemaOf(Call),
    async read({ reader, calls, query }) {
      await calls.flush()
      return answerPage(await listRequests(reader, query), query.limit)
    },
  }),
  readRoute({
    path: '/requests/:request_id',
    scope,
    operation: 'getRequest',
    summary: 'Mostra uma chamada, e o corpo de uma que foi recusada',
    description: kept,
    reply: singleOf(CallWithBody),
    async read({ reader, calls, params }) {
      const id = z.uuid().safeParse(params.request_id).data
      if (id === undefined) return null
      await calls.flush()
      return answerRecord(await getRequest(reader, id))
    },
  }),
]
