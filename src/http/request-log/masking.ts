import { MASKED } from '#domain/personal-data.ts'
import { bareTaxNumber, isCnpj, isCpf } from '#domain/tax-number.ts'

/**
 * Fields whose values the request log stores, each with the accepted format. Of all other fields, including unknown
 * ones, it stores only their presence (KIT-54): names, documents, addresses, contacts, free texts, URLs and tokens.
 */
const FIGURES =
  'advance_days after amount authorized_at catalog_item_id category_id cost customer_id delivery_fee discount due_date due_from due_to expires_in_minutes from id installments limit now overlap_hours paid_at paid_from paid_to payment_type_id price quantity revision since size sold_at sold_from sold_to stock stock_adjustment stock_updated_since supplier_id to unit_cost unit_price until updated_since user_id'
const CODES =
  'alarm api_key_id barcode brand catalog_item_external_id cbenef cest cfop code cofins_cst csosn customer_external_id event events external_id fiscal fresh ground gtin hash ibs_cbs_class ibs_cbs_cst icms_cst ie_indicator kind messages method model ncm offline_id opened origin person_type pis_cst protocol provider_payment_id queue replayed series sku status store_alias subject supplier_external_id type types unit'

const FIGURE = /^[-+\d.:,TZ]{1,40}$/
/** Callers choose codes: values that could be personal or secret are masked under these names too. */
const CODE = /^[\w.:*+/-]{1,64}$/
const SECRET = /^(tb_|whsec_|eyJ|sk_|APP_USR)/i

const LOOKS: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ...FIGURES.split(' ').map((name) => [name, isFigure] as const),
  ...CODES.split(' ').map((name) => [name, isCode] as const),
])

function isFigure(text: string): boolean {
  return FIGURE.test(text) && !isTaxNumber(text)
}

function isCode(text: string): boolean {
  return CODE.test(text) && !SECRET.test(text) && !isTaxNumber(text)
}

function isTaxNumber(text: string): boolean {
  const bare = bareTaxNumber(text)
  return isCpf(bare) || isCnpj(bare)
}

const shown = (name: string, text: string): string => (LOOKS.get(name)?.(text) ? text : MASKED)

/** A misspelt field name is shown; anything that is no identifier is masked. */
const NAME = /^[A-Za-z_][A-Za-z0-9_.-]{0,39}$/
const shownName = (name: string): string => (NAME.test(name) && !SECRET.test(name) ? name : MASKED)

const SEGMENT_WORDS = /^(?:\/[a-z][a-z-]{0,30}|\/\d{1,10})+$/

/** The storable form of a path below `/api/v1`. */
export function maskedPath(path: string): string {
  if (SEGMENT_WORDS.test(path)) return path
  return path
    .slice(0, LONGEST_PATH)
    .split('/')
    .map((segment) => (segment === '' || isCode(decoded(segment)) ? segment : MASKED))
    .join('/')
}

const LONGEST_PATH = 300

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return '%'
  }
}

const MOST_PARAMETERS = 30

/** The storable form of a query string; null without one. */
export function maskedQuery(query: string): string | null {
  if (query === '') return null
  const given = [...new URLSearchParams(query)].slice(0, MOST_PARAMETERS)
  return given.map(([name, value]) => `${shownName(name)}=${shown(name, value)}`).join('&')
}

/** Bounds of a stored text in bytes, and of its depth. */
const [MOST_BYTES, DEEPEST] = [4_096, 8]
/** Bytes of a member besides its name and value. */
const MARKS = 8
const MORE = '…'

/** The storable form of a body as JSON text: bounded, with its structure intact. */
export function maskedBody(body: unknown): string {
  let room = MOST_BYTES - MARKS
  function visit(value: unknown, name: string, depth: number): unknown {
    room -= MARKS
    if (depth > DEEPEST) return MORE
    if (Array.isArray(value)) return listed(value, name, depth)
    if (typeof value === 'object' && value !== null) return Object.fromEntries(members(value, depth))
    const kept = typeof value === 'string' || typeof value === 'number' ? shown(name, String(value)) : value
    room -= String(kept).length
    return kept === String(value) ? value : kept
  }
  function listed(values: readonly unknown[], name: string, depth: number): unknown[] {
    const kept: unknown[] = []
    for (const value of values) {
      if (room <= 0) return [...kept, MORE]
      kept.push(visit(value, name, depth + 1))
    }
    return kept
  }
  function* members(object: object, depth: number): Iterable<readonly [string, unknown]> {
    for (const [name, value] of Object.entries(object)) {
      const key = room <= 0 ? MORE : shownName(name)
      yield [key, room <= 0 ? MORE : visit(value, name, depth + 1)]
      if (key === MORE) return
      room -= key.length
    }
  }
  return bounded(visit(body, '', 0))
}

/** JSON text of an error's details: the service's own words, except unknown field names. */
export function keptDetails(details: Readonly<Record<string, unknown>>): string {
  const { unknown_fields, ...rest } = details
  const names = Array.isArray(unknown_fields) ? { unknown_fields: unknown_fields.map(String).map(shownName) } : {}
  return bounded({ ...rest, ...names })
}

function bounded(value: unknown): string {
  const text = JSON.stringify(value)
  return Buffer.byteLength(text) <= MOST_BYTES ? text : JSON.stringify(MORE)
}
