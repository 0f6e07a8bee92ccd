import type { Reader } from '../reader.ts'
import { t } from '../table-names.ts'

/** Units by id of item; an item without one is absent. */
export type UnitsOfItems = ReadonlyMap<number, string>

interface Line {
  /** Null for an item that is not in the catalog. */
  readonly catalog_item_id: number | null
}

/** Present units of the items of some lines. */
export async function findUnits(reader: Reader, lines: readonly Line[]): Promise<UnitsOfItems> {
  const ids = [...new Set(lines.flatMap(({ catalog_item_id }) => catalog_item_id ?? []))]
  if (ids.length === 0) return new Map()
  const { rows } = await reader.query<{ id: number; unit: string }>({
    name: 'units_of_items',
    text: `select t.id, t.doc ->> 'unit' as unit from ${t.catalog_items} t
        where t.company_id = $1 and t.id = any($2::bigint[]) and t.doc ->> 'unit' is not null`,
    values: [ids],
    readSet: { catalog_items: ids },
  })
  return new Map(rows.map(({ id, unit }) => [id, unit]))
}

export const unitIn = (units: UnitsOfItems | undefined, { catalog_item_id }: Line): string | undefined =>
  catalog_item_id === null ? undefined : units?.get(catalog_item_id)
