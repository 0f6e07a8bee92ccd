import { z } from 'zod'
import { AccessKey, modelOf } from '#domain/access-key.ts'
import { IMPOSSIBLE, Instant, isImpossible } from '#domain/instant.ts'
import { invalid, type Refusal, refuse } from '#domain/refusal.ts'
import { boundedText } from '#domain/text.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import { FISCAL_DOCUMENT_STATUSES } from '#events/sales.ts'
import { accept, command } from '#ledger/command.ts'
import { type FiscalDocument, type SaleRow, saleById } from '#projections/sales.ts'
import { changedRecordFields, isEmpty } from '../records.ts'

const Model = z
  .string()
  .regex(/^[0-9A-Z]{2}$/, { error: 'deve ser o código do modelo com dois caracteres, como "65"', abort: true })

const Sha256 = z
  .string()
  .toLowerCase()
  .regex(/^[0-9a-f]{64}$/, 'deve ser um SHA-256 com 64 dígitos hexadecimais')

const HttpsUrl = boundedText(2000).refine(
  (address) => URL.canParse(address) && new URL(address).protocol === 'https:',
  'deve ser um endereço https',
)

const xmlShape = { xml_sha256: Sha256.nullish(), xml_url: HttpsUrl.nullish() }

/**
 * Body of PUT /sales/{id}/fiscal-document: the whole document, which in contingency has no authorization yet
 * (FISCAL-1).
 */
export const FiscalDocumentBody = z
  .strictObject({
    model: Model,
    series: boundedText(20),
    number: boundedText(60),
    access_key: AccessKey,
    protocol: boundedText(60).nullish(),
    authorized_at: Instant.nullish(),
    status: z.enum(FISCAL_DOCUMENT_STATUSES),
    ...xmlShape,
  })
  .superRefine(checkModel)
  .superRefine((document, context) => {
    if (document.status === 'contingency') return
    for (const field of ['protocol', 'authorized_at'] as const) {
      if (document[field] == null) context.addIssue({ code: 'custom', path: [field], message: 'é obrigatório' })
    }
  })

/**
 * Fields of a document that a person enters. Only the number is required. Absent fields stay unchanged; null clears.
 */
export const FiscalDocumentFields = z
  .strictObject({
    number: boundedText(60),
    status: z
      .enum(FISCAL_DOCUMENT_STATUSES)
      .nullish()
      .transform((status) => status ?? 'authorized'),
    model: Model.nullish(),
    series: boundedText(20).nullish(),
    access_key: AccessKey.nullish(),
    protocol: boundedText(60).nullish(),
    authorized_at: Instant.nullish(),
    ...xmlShape,
  })
  .superRefine(checkModel)
export type FiscalDocumentInput = z.infer<typeof FiscalDocumentFields> & { readonly id: number }

function checkModel(
  { model, access_key }: Pick<FiscalDocumentInput, 'model' | 'access_key'>,
  context: z.RefinementCtx,
): void {
  if (!model || !access_key || modelOf(access_key) === model) return
  context.addIssue({
    code: 'custom',
    path: ['access_key'],
    message: `é de um documento de modelo ${modelOf(access_key)}`,
  })
}

/**
 * Records the fiscal document of a sale as its issuer reports it; the service issues none itself. Repeating it records
 * nothing.
 */
export const recordFiscalDocument = command<FiscalDocumentInput>({
  needs: ({ id }) => [saleById(id)],
  decide(rows, { id, ...input }, { now }) {
    const sale = rows.get(saleById(id))
    if (!sale) return refuse('not_found')
    const known = sale.doc.fiscal_document && factsOf(sale.doc.fiscal_document)
    const same = known && isSame(known, input) ? known : null
    const document = { ...(same ?? NOTHING), ...definedOf(input) } as Facts
    if (document.status === 'authorized') document.authorized_at ??= same?.authorized_at ?? now
    const refused = findObstacle(sale, known, same, document, now)
    if (refused) return refused
    if (known && isEmpty(changedRecordFields(known, document))) return accept('unchanged', `sale/${id}`)
    return accept('updated', `sale/${id}`, [event('FiscalDocumentRecorded', { id, ...document })])
  },
})

type Facts = Omit<DataOf<'FiscalDocumentRecorded'>, 'id'>

const NOTHING = {
  model: null,
  series: null,
  access_key: null,
  protocol: null,
  authorized_at: null,
  xml_sha256: null,
  xml_url: null,
}

/** Event fields of the document, with times in UTC. */
function factsOf({ issued_at: _, authorized_at, ...facts }: FiscalDocument): Facts {
  return { ...facts, authorized_at: authorized_at && new Date(authorized_at).toISOString() }
}

const definedOf = (input: object): object =>
  Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined))

/**
 * Whether both are the same document: no known field differs, or a whole document follows one that was noted by number
 * only.
 */
const isSame = (known: Facts, input: Omit<FiscalDocumentInput, 'id'>): boolean =>
  (known.access_key === null && input.access_key != null && known.status !== 'cancelled') ||
  (['model', 'series', 'number', 'access_key'] as const).every(
    (field) => known[field] === null || input[field] == null || known[field] === input[field],
  )

/** A document is authorized, then cancelled. An authorized one cannot be replaced (FISCAL-3). */
function findObstacle(
  sale: Readonly<SaleRow>,
  known: Facts | null,
  same: Facts | null,
  { status, authorized_at }: Facts,
  now: string,
): Refusal | null {
  if (authorized_at && isImpossible(authorized_at, now)) return invalid('authorized_at', IMPOSSIBLE)
  if (sale.status === 'cancelled' && status !== 'cancelled') return invalid('sale', 'a venda está cancelada')
  if (known?.status === 'authorized' && !same) return refuse('fiscal_document_issued')
  if (same?.status === 'cancelled' && status !== 'cancelled')
    return invalid('status', 'um documento cancelado não volta a valer')
  if (same?.status === 'authorized' && status === 'contingency')
    return invalid('status', 'um documento autorizado não volta à contingência')
  return null
}
