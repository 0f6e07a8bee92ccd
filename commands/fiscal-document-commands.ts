import * as z from 'zod'
import { AccessKey, readAccessKey, withoutZeros } from '#domain/fiscal-values.ts'
import { dateInZone, IMPOSSIBLE, Instant, isImpossible } from '#domain/instant.ts'
import { type Refusal, refuse, refuseField } from '#domain/refusals.ts'
import { boundedText, limitedText, REQUIRED_FIELD } from '#domain/text.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import { FISCAL_DOCUMENT_STATUSES } from '#events/sale-events.ts'
import { accept, command } from '#ledger/command.ts'
import type { Ref } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { companyRef, getTimezone, ownCompany } from '#projections/companies.ts'
import { type DocumentHolder, documentNames, fiscalDocumentByName } from '#projections/fiscal-documents.ts'
import { returnById } from '#projections/returns.ts'
import { type FiscalDocument, type SaleRow, saleById } from '#projections/sales.ts'
import { isEmpty, pickChanges } from './record-commands.ts'

const Model = limitedText(20, 'deve ser o código do modelo com dois caracteres, como "65"').regex(/^[0-9A-Z]{2}$/, {
  error: 'deve ser o código do modelo com dois caracteres, como "65"',
  abort: true,
})

const Sha256 = limitedText(100, 'deve ser um SHA-256 com 64 dígitos hexadecimais')
  .toLowerCase()
  .regex(/^[0-9a-f]{64}$/, 'deve ser um SHA-256 com 64 dígitos hexadecimais')

const HttpsUrl = boundedText(2000).refine(
  (address) => URL.canParse(address) && new URL(address).protocol === 'https:',
  'deve ser um endereço https',
)

const xmlShape = { xml_sha256: Sha256.nullish(), xml_url: HttpsUrl.nullish() }

/**
 * Body of PUT /sales/{id}/fiscal-document: the whole document, which in contingency has no authorization yet.
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
  .superRefine(checkKey)
  .superRefine((document, context) => {
    if (document.status === 'contingency') return
    for (const field of ['protocol', 'authorized_at'] as const) {
      if (document[field] == null) context.addIssue({ code: 'custom', path: [field], message: REQUIRED_FIELD })
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
  .superRefine(checkKey)
export type FiscalDocumentInput = z.infer<typeof FiscalDocumentFields> & { readonly id: number }

/** What the key says must be what the document says (FISCAL-2). */
function checkKey(document: Partial<Identified>, context: z.RefinementCtx): void {
  for (const message of contradictions(document)) context.addIssue({ code: 'custom', path: ['access_key'], message })
}

type Identified = Pick<FiscalDocumentInput, 'model' | 'series' | 'number' | 'access_key'>

function contradictions({ model, series, number, access_key }: Partial<Identified>): string[] {
  if (!access_key) return []
  const key = readAccessKey(access_key)
  return [
    ...(model && model !== key.model ? [`é de um documento de modelo ${key.model}`] : []),
    ...(series && withoutZeros(series) !== key.series ? [`é de um documento de série ${key.series}`] : []),
    ...(number && withoutZeros(number) !== key.number ? [`é de um documento de número ${key.number}`] : []),
  ]
}

/**
 * Records the fiscal document of a sale as its issuer reports it; the service issues none itself. Repeating it records
 * nothing.
 */
export const recordFiscalDocument = command<FiscalDocumentInput>({
  permission: 'sell',
  needs: ({ id, ...input }) => [ownCompany, saleById(id), ...namesOf(input).map(fiscalDocumentByName)],
  needsMore(rows, { id, ...input }) {
    const known = rows.get(saleById(id))?.doc.fiscal_document
    const whole = known ? namesOf({ ...toDocumentFacts(known), ...definedOf(input) }) : []
    return [...whole.map(fiscalDocumentByName), ...holdersOf(rows, input)]
  },
  decide(rows, { id, ...input }, { now }) {
    const sale = rows.get(saleById(id))
    if (!sale) return refuse('not_found')
    const known = sale.doc.fiscal_document && toDocumentFacts(sale.doc.fiscal_document)
    const same = known && isSameDocument(known, input) ? known : null
    const document = { ...(same ?? NOTHING), ...definedOf(input) } as DocumentFacts
    if (document.status === 'authorized') document.authorized_at ??= same?.authorized_at ?? now
    const refused =
      findObstacle(sale, known, same, document, now) ??
      findWrongKey(rows, document, now) ??
      findOtherHolder(rows, { sale_id: id, return_id: null }, document, input)
    if (refused) return refused
    if (known && isEmpty(pickChanges(known, document))) return accept('unchanged', `sale/${id}`)
    return accept('updated', `sale/${id}`, [event('FiscalDocumentRecorded', { id, ...document })])
  },
})

type DocumentFacts = Omit<DataOf<'FiscalDocumentRecorded'>, 'id'>

const NOTHING = {
  model: null,
  series: null,
  access_key: null,
  protocol: null,
  authorized_at: null,
  xml_sha256: null,
  xml_url: null,
}

/** Keys of one company have its CNPJ, or that of a branch: the same first eight characters. */
const ROOT = 8
const cnpjRoot = (cnpj: string): string =>
  cnpj
    .replace(/[^0-9A-Z]/gi, '')
    .slice(0, ROOT)
    .toUpperCase()

/** Refuses a key of another company, or of a month that has not begun on the company's day. */
function findWrongKey(rows: Rows, { access_key }: DocumentFacts, now: string): Refusal | null {
  if (access_key === null) return null
  const { cnpj, month } = readAccessKey(access_key)
  if (cnpjRoot(cnpj) !== cnpjRoot(companyRef(rows).cnpj))
    return refuseField('access_key', 'é de um documento de outro CNPJ')
  const isFuture = month > dateInZone(now, getTimezone(rows)).slice(0, month.length)
  return isFuture ? refuseField('access_key', 'é de um mês que ainda não começou') : null
}

const namesOf = ({ model = null, series = null, number = '', access_key = null }: Partial<Identified>) =>
  documentNames({ model, series, number, access_key }).exclusive

/** Sales and returns that recorded a document under one of the names. */
const holdersOf = (rows: Rows, said: Partial<Identified>) =>
  namesOf(said).flatMap((name) => {
    const holder = rows.get(fiscalDocumentByName(name))
    return holder ? [holderRef(holder)] : []
  })

type HolderRow = { readonly doc: { readonly fiscal_document: FiscalDocument | null } }

const holderRef = ({ sale_id, return_id }: DocumentHolder) =>
  (return_id === null ? saleById(sale_id) : returnById(return_id)) as Ref<HolderRow>

/**
 * Another sale or return with this document. A document in contingency that its sale has replaced is free
 * again, a cancelled one never is.
 */
function findOtherHolder(
  rows: Rows,
  { sale_id, return_id }: DocumentHolder,
  document: DocumentFacts,
  said: Partial<Identified>,
): Refusal | null {
  const loaded = namesOf(said)
  for (const name of documentNames(document).exclusive) {
    const holder = rows.get(fiscalDocumentByName(name))
    if (!holder || (holder.sale_id === sale_id && holder.return_id === return_id)) continue
    const other = loaded.includes(name) ? rows.get(holderRef(holder))?.doc.fiscal_document : null
    const isReplaced = other && !holder.is_cancelled && !documentNames(other).taken.includes(name)
    if (isReplaced) continue
    const field = document.access_key === null ? 'number' : 'access_key'
    const isOfReturn = holder.return_id !== null
    return refuse('duplicate_resource', {
      field,
      conflicting_id: holder.sale_id,
      ...(isOfReturn && { return_id: holder.return_id }),
    })
  }
  return null
}

/** Event fields of the document, with times in UTC. */
function toDocumentFacts({ issued_at: _, authorized_at, ...facts }: FiscalDocument): DocumentFacts {
  return { ...facts, authorized_at: authorized_at && new Date(authorized_at).toISOString() }
}

const definedOf = (input: object): object =>
  Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined))

/**
 * Whether both are the same document: no known field differs, or a whole document follows one that was noted by number
 * only.
 */
const isSameDocument = (known: DocumentFacts, input: Omit<FiscalDocumentInput, 'id'>): boolean =>
  (known.access_key === null && input.access_key != null && known.status !== 'cancelled') ||
  (['model', 'series', 'number', 'access_key'] as const).every(
    (field) => known[field] === null || input[field] == null || known[field] === input[field],
  )

/** A document is authorized, then cancelled. An authorized one cannot be replaced. */
function findObstacle(
  sale: Readonly<SaleRow>,
  known: DocumentFacts | null,
  same: DocumentFacts | null,
  { status, authorized_at }: DocumentFacts,
  now: string,
): Refusal | null {
  if (authorized_at && isImpossible(authorized_at, now)) return refuseField('authorized_at', IMPOSSIBLE)
  if (sale.status === 'cancelled' && status !== 'cancelled') return refuseField('sale', 'a venda está cancelada')
  if (known?.status === 'authorized' && !same) return refuse('fiscal_document_issued')
  if (same?.status === 'cancelled' && status !== 'cancelled')
    return refuseField('status', 'um documento cancelado não volta a valer')
  if (same?.status === 'authorized' && status === 'contingency')
    return refuseField('status', 'um documento autorizado não volta à contingência')
  return null
}

/**
 * Records the fiscal document of a return as its issuer reports it. An authorized document is cancelled before
 * another takes its place; repeating it records nothing.
 */
export const recordReturnDocument = command<DocumentFacts & { readonly id: number }>({
  permission: 'return_goods',
  needs: ({ id, ...document }) => [ownCompany, returnById(id), ...namesOf(document).map(fiscalDocumentByName)],
  needsMore: (rows, document) => holdersOf(rows, document),
  decide(rows, { id, ...document }, { now }) {
    const of = rows.get(returnById(id))
    if (!of) return refuse('not_found')
    const known = of.doc.fiscal_document && toDocumentFacts(of.doc.fiscal_document)
    const isSame = known !== null && isSameDocument(known, document)
    if (document.authorized_at && isImpossible(document.authorized_at, now))
      return refuseField('authorized_at', IMPOSSIBLE)
    if (known?.status === 'authorized' && !isSame) return refuse('fiscal_document_issued')
    if (isSame && known.status === 'cancelled' && document.status !== 'cancelled')
      return refuseField('status', 'um documento cancelado não volta a valer')
    if (isSame && known.status === 'authorized' && document.status === 'contingency')
      return refuseField('status', 'um documento autorizado não volta à contingência')
    const holder = { sale_id: of.sale_id, return_id: id }
    const refused = findWrongKey(rows, document, now) ?? findOtherHolder(rows, holder, document, document)
    if (refused) return refused
    if (known && isEmpty(pickChanges(known, document))) return accept('unchanged', `return/${id}`)
    return accept('updated', `return/${id}`, [event('ReturnDocumentRecorded', { id, ...document })])
  },
})
