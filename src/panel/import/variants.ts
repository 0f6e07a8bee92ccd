import { variantKey } from '#projections/catalog.ts'
import { type CodedItem, itemsWithCodes, variantsOf } from '#queries/import-matches.ts'
import type { Reader } from '#queries/reader.ts'
import type { ImportMapping } from './heads.ts'
import { isWrong, type PlannedRow, VARIANT_FIELDS, type ValidRow, validRows } from './plan.ts'

/** The item of a variant: a record, or the record that a line of the file makes. */
export type PlannedParent = { readonly id: number } | { readonly line: number }

/** Without the fields of variants if no column names the item of which they are: the shop's items may have sizes. */
export function withoutStrayVariants(mapping: ImportMapping): ImportMapping {
  const [parent, ...others]: readonly string[] = VARIANT_FIELDS
  const isNamed = [...mapping.values()].some((field) => field === parent)
  return isNamed ? mapping : new Map([...mapping].filter(([, field]) => !others.includes(field)))
}

interface Candidate {
  readonly parent: PlannedParent
  readonly isVariant: boolean
}

const CODES = ['external_id', 'sku'] as const

/** Candidates by code, which a record and the line that changes it share. */
type Candidates = ReadonlyMap<string, ReadonlyMap<string, Candidate>>

function candidatesBy(
  field: (typeof CODES)[number],
  lines: readonly ValidRow[],
  records: readonly CodedItem[],
): Candidates {
  const byCode = new Map<string, Map<string, Candidate>>()
  const add = (code: unknown, key: string, candidate: Candidate) => {
    if (typeof code !== 'string') return
    const known = byCode.get(code) ?? new Map<string, Candidate>()
    byCode.set(code, known.set(key, candidate))
  }
  for (const record of records)
    add(record[field], `id ${record.id}`, { parent: { id: record.id }, isVariant: record.is_variant })
  for (const { number, id, input, variant } of lines) {
    const key = id === null ? `line ${number}` : `id ${id}`
    const known = byCode.get(String(input[field]))?.get(key)
    const isVariant = variant !== null || (known?.isVariant ?? false)
    add(input[field], key, { parent: id === null ? { line: number } : { id }, isVariant })
  }
  return byCode
}

/** The item with a code: its external id, else its SKU. A text says why there is none. */
function parentWith(code: string, both: readonly Candidates[]): PlannedParent | string {
  const found = both.map((candidates) => candidates.get(code)).find((some) => some !== undefined)
  if (found === undefined) return 'não foi encontrado no catálogo nem no arquivo'
  const [candidate] = [...found.values()]
  if (found.size > 1 || !candidate) return 'é o código de mais de um item'
  return candidate.isVariant ? 'é uma variação' : candidate.parent
}

export interface ResolvedVariants {
  readonly lines: readonly PlannedRow[]
  /** By code. */
  readonly parents: ReadonlyMap<string, PlannedParent>
}

/** Finds the items of variants among records and other lines. A variant without one is wrong (IMPORT-105). */
export async function resolveVariants(
  reader: Reader,
  lines: readonly PlannedRow[],
  label: string,
): Promise<ResolvedVariants> {
  const valid = validRows(lines)
  const codes = [...new Set(valid.flatMap(({ variant }) => variant?.parent ?? []))]
  if (codes.length === 0) return { lines, parents: new Map() }
  const records = await itemsWithCodes(reader, codes)
  const both = CODES.map((field) => candidatesBy(field, valid, records))
  const found = new Map(codes.map((code) => [code, parentWith(code, both)] as const))
  const parents = new Map(
    [...found].flatMap(([code, parent]) => (typeof parent === 'string' ? [] : [[code, parent] as const])),
  )
  const judged = lines.map((line): PlannedRow => {
    const code = isWrong(line) ? undefined : line.variant?.parent
    const parent = code === undefined ? undefined : found.get(code)
    return typeof parent === 'string' ? { number: line.number, errors: [`${label}: "${code}" ${parent}`] } : line
  })
  const unique = withoutRepeated(judged, parents, await knownVariants(reader, judged, parents), label)
  return { lines: withParentsDoubts(unique, parents), parents }
}

type Parents = ResolvedVariants['parents']

const variantOf = (line: PlannedRow): ValidRow['variant'] => (isWrong(line) ? null : line.variant)

/** Ids of variants by item, size and colour. */
async function knownVariants(
  reader: Reader,
  lines: readonly PlannedRow[],
  parents: Parents,
): Promise<ReadonlyMap<string, number>> {
  const variants = lines.flatMap((line) => variantOf(line) ?? [])
  const ids = [...parents.values()].flatMap((parent) => ('id' in parent ? [parent.id] : []))
  const known = ids.length === 0 ? [] : await variantsOf(reader, ids, variants.map(variantKey))
  return new Map(known.map(({ id, parent_id, variant_key }) => [`${parent_id} ${variant_key}`, id]))
}

/** A size and colour of an item that another record or an earlier line has is wrong. */
function withoutRepeated(
  lines: readonly PlannedRow[],
  parents: Parents,
  known: ReadonlyMap<string, number>,
  label: string,
): PlannedRow[] {
  const seen = new Map<string, number>()
  return lines.map((line) => {
    const variant = variantOf(line)
    const parent = variant && parents.get(variant.parent)
    if (isWrong(line) || !variant || !parent) return line
    const key = `${'id' in parent ? parent.id : `line ${parent.line}`} ${variantKey(variant)}`
    const [record, before] = [known.get(key), seen.get(key)]
    seen.set(key, before ?? line.number)
    const wrong = (text: string): PlannedRow => ({ number: line.number, errors: [`${label}: ${text}`] })
    if (record !== undefined && record !== line.id) return wrong(`esta variação já é do cadastro ${record}`)
    return before === undefined ? line : wrong(`esta variação repete a linha ${before}`)
  })
}

/** Variants of an item whose line is in doubt are in doubt too. */
function withParentsDoubts(lines: readonly PlannedRow[], parents: Parents): PlannedRow[] {
  const doubts = new Map(validRows(lines).map(({ number, doubt }) => [number, doubt]))
  return lines.map((line) => {
    const variant = variantOf(line)
    const parent = variant && parents.get(variant.parent)
    const doubt = parent && 'line' in parent ? doubts.get(parent.line) : null
    if (isWrong(line) || !doubt || line.doubt || !parent || !('line' in parent)) return line
    return { ...line, doubt: { ...doubt, text: `o produto da linha ${parent.line} está por confirmar: ${doubt.text}` } }
  })
}
