import { Quantity } from '#domain/money.ts'
import { formatDocumentNumber, parseDocumentNumber } from '#domain/prices.ts'
import { groupBy } from '#lib/collections.ts'
import {
  findItemsByGtin,
  findSupplierByDocument,
  listSupplierItems,
  type ReceivableItem,
} from '#queries/goods-receipt-queries.ts'
import type { Reader } from '#queries/reader.ts'
import type { Nfe, NfeLine } from './nfe-file.ts'

/** Lines of a note with one code and unit: they are one product, whatever lots it came in. */
export interface NfeProduct extends NfeLine {
  /** Numbers of its lines. */
  readonly numbers: readonly string[]
  readonly match: ReceivableItem | null
  /** Own units in one of the supplier's: remembered, or as the note's taxed unit says. */
  readonly factor: string
  /** Barcode and unit that a new item gets. */
  readonly ownGtin: string | null
  readonly ownUnit: string
}

/** A note with what the company knows of its supplier and products. */
export interface MatchedNfe extends Nfe {
  readonly known: { readonly id: number; readonly name: string | null } | null
  readonly products: readonly NfeProduct[]
}

const sameUnit = (one: string | null, other: string): boolean =>
  one?.trim().toUpperCase() === other.trim().toUpperCase()

/** Taxed units in one sold unit, if that is a quantity: 12 of a `CX` that is taxed as 12 `UN`. */
function taxedInSold({ quantity, taxedQuantity }: NfeLine): string | null {
  const thousandths = taxedQuantity * 1000n
  if (taxedQuantity === 0n || thousandths % quantity !== 0n) return null
  const factor = formatDocumentNumber((thousandths / quantity) * 10_000_000n)
  return Quantity.safeParse(factor).success ? factor : null
}

/** Own units in one of the supplier's, of an item that was found by its code. */
function factorOf(line: NfeLine, item: ReceivableItem, isTaxedCode: boolean): string {
  const taxed = taxedInSold(line)
  if (taxed === null || sameUnit(item.unit, line.unit)) return '1'
  const hasOneCode = line.gtin === line.taxedGtin
  return sameUnit(item.unit, line.taxedUnit) || (isTaxedCode && !hasOneCode) || (hasOneCode && item.unit === null)
    ? taxed
    : '1'
}

function merged(lines: readonly NfeLine[]): NfeLine {
  const sum = (of: 'quantity' | 'taxedQuantity' | 'cost') => lines.reduce((all, line) => all + line[of], 0n)
  return {
    ...(lines[0] as NfeLine),
    quantity: sum('quantity'),
    taxedQuantity: sum('taxedQuantity'),
    cost: sum('cost'),
  }
}

/** Finds supplier and products: by what they were the last time, then by GTIN. */
export async function matchNfe(reader: Reader, nfe: Nfe): Promise<MatchedNfe> {
  const known = await findSupplierByDocument(reader, nfe.supplier.document)
  const groups = [...groupBy(nfe.lines, ({ code, unit }) => JSON.stringify([code, unit])).values()]
  const codes = [...new Set(nfe.lines.map(({ code }) => code))]
  const remembered = known ? await listSupplierItems(reader, known.id, codes) : []
  const gtins = [...new Set(nfe.lines.flatMap(({ gtin, taxedGtin }) => [gtin ?? [], taxedGtin ?? []].flat()))]
  const byGtin = await findItemsByGtin(reader, gtins)
  const products = groups.map((lines): NfeProduct => {
    const line = merged(lines)
    const taxed = sameUnit(line.unit, line.taxedUnit) ? null : taxedInSold(line)
    const own = {
      numbers: lines.map(({ number }) => number),
      ownGtin: line.taxedGtin ?? (taxed === null ? line.gtin : null),
      ownUnit: taxed === null ? line.unit : line.taxedUnit,
    }
    const before = remembered.find(({ code, of_unit }) => code === line.code && of_unit === line.unit)
    if (before)
      return { ...line, ...own, match: before, factor: formatDocumentNumber(parseDocumentNumber(before.factor) ?? 0n) }
    const [sold, single] = [line.gtin, line.taxedGtin].map((code) => (code === null ? undefined : byGtin.get(code)))
    const match = sold ?? single ?? null
    return { ...line, ...own, match, factor: match ? factorOf(line, match, sold === undefined) : (taxed ?? '1') }
  })
  return { ...nfe, known, products }
}
