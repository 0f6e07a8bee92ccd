import type { Reader } from './reader.ts'
import { t } from './table-names.ts'

/** A record that has one of the requested keys. */
export interface MatchingRecord {
  readonly id: number
  /** Deleted records still occupy their external id. */
  readonly is_deleted: boolean
  /** By field: as the read model compares them. */
  readonly keys: Readonly<Record<string, string | null>>
  readonly text: string
  /** Of items. */
  readonly price?: string
  readonly cost?: string | null
}

/** Values by field, as the read model compares them. */
export type MatchRequest = Readonly<Record<string, readonly string[]>>

/**
 * Records kept per combination of the more specific keys: many records may share an SKU or a document, and two are
 * enough to detect an ambiguous key.
 */
export const RECORDS_PER_KEY = 2

/**
 * Items by external id, and those in use by barcode, SKU, SKU and name, and name alone, with and without codes: at
 * most twelve for a line. Names as sort keys.
 */
const ITEMS = `
  select id, deleted_at is not null as is_deleted,
    json_build_object('external_id', external_id, 'barcode', barcode, 'sku', sku, 'name', sort_key) as keys,
    doc->>'name' as text, doc->>'price' as price, doc->>'cost' as cost
  from ${t.catalog_items}
  where company_id = $1 and id in (
    select id from ${t.catalog_items} where company_id = $1 and external_id = any($2::text[])
    union all
    select id from ${t.catalog_items} where company_id = $1 and deleted_at is null and barcode = any($3::text[])
    union all
    select id from (
      select id, row_number() over (partition by sku, external_id is null, barcode is null order by id) as place
      from ${t.catalog_items} where company_id = $1 and deleted_at is null and sku = any($4::text[])) alike
    where place <= ${RECORDS_PER_KEY}
    union all
    select id from (
      select t.id, row_number() over (partition by t.sku, t.sort_key order by t.id) as place
      from (select distinct sku, sort_key from unnest($4::text[], $5::text[]) as line (sku, sort_key)) asked
      join ${t.catalog_items} t on t.company_id = $1 and t.deleted_at is null and t.sku = asked.sku and t.sort_key = asked.sort_key
    ) named
    where place <= ${RECORDS_PER_KEY}
    union all
    select id from (
      select id, row_number() over (partition by sort_key, coalesce(external_id, barcode, sku) is null order by id) as place
      from ${t.catalog_items}
      where company_id = $1 and deleted_at is null and cardinality($6::text[]) > 0 and sort_key = any($6::text[])) named_alone
    where place <= ${RECORDS_PER_KEY})
  order by id`

export async function matchingItems(reader: Reader, asked: MatchRequest): Promise<MatchingRecord[]> {
  const { external_id = [], barcode = [], sku = [], sku_name = [], name = [] } = asked
  const { rows } = await reader.query<MatchingRecord>({
    text: ITEMS,
    values: [external_id, barcode, sku, sku_name, name],
  })
  return rows
}

/** An item in use, by the codes under which variants name it. */
export interface CodedItem {
  readonly id: number
  readonly external_id: string | null
  readonly sku: string | null
  readonly is_variant: boolean
}

const CODED = 'select id, external_id, sku, parent_id is not null as is_variant'

/** Items in use with one of the codes as external id or SKU; two at most for each SKU. */
export async function itemsWithCodes(reader: Reader, codes: readonly string[]): Promise<CodedItem[]> {
  const { rows } = await reader.query<CodedItem>({
    text: `${CODED} from ${t.catalog_items} where company_id = $1 and deleted_at is null and external_id = any($2::text[])
     union
     ${CODED} from (
       select *, row_number() over (partition by sku order by id) as place
       from ${t.catalog_items} where company_id = $1 and deleted_at is null and sku = any($2::text[])) alike
     where place <= ${RECORDS_PER_KEY}`,
    values: [codes],
  })
  return rows
}

/** A variant in use, by item and size and colour as the read model compares them. */
interface KnownVariant {
  readonly id: number
  readonly parent_id: number
  readonly variant_key: string
}

/** Variants in use of some items, with one of the keys. */
export async function findMatchingVariants(
  reader: Reader,
  parents: readonly number[],
  keys: readonly string[],
): Promise<KnownVariant[]> {
  const { rows } = await reader.query<KnownVariant>({
    text: `select id, parent_id, variant_key from ${t.catalog_items}
     where company_id = $1 and deleted_at is null and parent_id = any($2::bigint[]) and variant_key = any($3::text[])`,
    values: [parents, keys],
  })
  return rows
}

/** Persons by external id, and those in lists by document and name: at most six for a line that has all three. */
const persons = (table: 'customers' | 'suppliers'): string => `
  select id, deleted_at is not null as is_deleted,
    json_build_object('external_id', external_id, 'document', document, 'name', name_key) as keys,
    doc->>'name' as text
  from ${t[table]}
  where company_id = $1 and id in (
    select id from ${t[table]} where company_id = $1 and external_id = any($2::text[])
    union all
    select id from ${t[table]} where company_id = $1 and deleted_at is null and name_key = any($4::text[])
    union all
    select id from (
      select id, row_number() over (partition by document, external_id is null order by id) as place
      from ${t[table]} where company_id = $1 and deleted_at is null and document = any($3::text[])) alike
    where place <= ${RECORDS_PER_KEY})
  order by id`

export const matchingPersons =
  (table: 'customers' | 'suppliers') =>
  async (reader: Reader, request: MatchRequest): Promise<MatchingRecord[]> => {
    const { external_id = [], document = [], name = [] } = request
    const { rows } = await reader.query<MatchingRecord>({ text: persons(table), values: [external_id, document, name] })
    return rows
  }

/** Ids of the categories that have some names, by these, as the read model compares them. */
export async function categoriesNamed(reader: Reader, names: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const { rows } = await reader.query<{ id: number; name_key: string }>({
    text: `select id, name_key from ${t.categories} where company_id = $1 and deleted_at is null and name_key = any($2::text[])`,
    values: [names],
  })
  return new Map(rows.map(({ id, name_key }) => [name_key, id]))
}

/** A record that may be the one of a line, in another spelling. */
export interface AlikeRecord {
  /** As asked. */
  readonly key: string
  readonly id: number
  readonly text: string
}

/** Items in use with one of the barcodes, which are unique. */
export async function itemsWithBarcodes(reader: Reader, barcodes: readonly string[]): Promise<AlikeRecord[]> {
  const { rows } = await reader.query<AlikeRecord>({
    text: `select barcode as key, id, doc->>'name' as text from ${t.catalog_items}
     where company_id = $1 and deleted_at is null and barcode = any($2::text[]) order by id`,
    values: [barcodes],
  })
  return rows
}

/** Persons in lists with names of these search keys: two at most for each. */
export async function personsNamedLike(
  reader: Reader,
  table: 'customers' | 'suppliers',
  searchKeys: readonly string[],
): Promise<AlikeRecord[]> {
  const { rows } = await reader.query<AlikeRecord>({
    text: `select asked.key, named.id, named.text from unnest($2::text[]) as asked (key)
     cross join lateral (
       select t.id, t.doc->>'name' as text from ${t[table]} t
       where t.company_id = $1 and t.deleted_at is null
         and t.sort_key collate "C" >= asked.key || chr(10) and t.sort_key collate "C" < asked.key || chr(11)
       order by t.sort_key collate "C", t.id limit ${RECORDS_PER_KEY}) named`,
    values: [searchKeys],
  })
  return rows
}

/** A record in use whose code differs from a requested one in zeros before it at most. */
export interface SimilarCode {
  readonly code: string
  readonly id: number
  readonly text: string
}

/** Codes of a table that are compared without zeros. */
export interface CodeTable {
  readonly fields: readonly string[]
  /** `codes` have no zeros before them; each is looked up in the lengths that codes have, two records for each. */
  find(reader: Reader, field: string, codes: readonly string[]): Promise<SimilarCode[]>
}

/** Longest code that is looked up with zeros before it. */
const MAX_CODE_LENGTH = 14

function codeTable(table: 'catalog_items' | 'customers' | 'suppliers', fields: readonly string[]): CodeTable {
  const textOf = (field: string) => `
    select code, id, text from (
      select ${field} as code, id, doc->>'name' as text, row_number() over (partition by ${field} order by id) as place
      from ${t[table]} where company_id = $1 and deleted_at is null and ${field} = any(array(
        select lpad(asked, digits, '0') from unnest($2::text[]) as asked
        cross join lateral generate_series(length(asked), ${MAX_CODE_LENGTH}) as digits))) found
    where place <= ${RECORDS_PER_KEY} order by id`
  const statements = new Map(fields.map((field) => [field, textOf(field)]))
  return {
    fields,
    async find(reader, field, codes) {
      const { rows } = await reader.query<SimilarCode>({ text: statements.get(field) ?? '', values: [codes] })
      return rows
    },
  }
}

export const ITEM_CODES = codeTable('catalog_items', ['external_id', 'barcode', 'sku'])
export const CUSTOMER_CODES = codeTable('customers', ['external_id'])
export const SUPPLIER_CODES = codeTable('suppliers', ['external_id'])
