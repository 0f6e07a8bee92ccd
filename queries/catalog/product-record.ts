/** SQL of a moment as the sync interface shows it: UTC with milliseconds. */
export const utc = (moment: string): string =>
  `to_char((${moment}) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

/** Members of an item's object, parsed once; `t` is the item. */
export const ITEM_DETAILS = `
  left join lateral json_to_record(t.doc) as d(name json, price text, stock text, updated_at timestamptz) on true`

const CATEGORY_NAME = `(
  select (g.doc -> 'name')::text from categories g where g.company_id = t.company_id and g.id = t.category_id)`

/**
 * SQL of a product's JSON text (spec, Product (download)). Decimals are put there as they are kept, so that the numbers are
 * exact. What is not tracked has no stock to tell: 0, and `tracks_stock` says that it means nothing.
 */
export const PRODUCT_RECORD = `'{"id":' || t.id
  || ',"name":' || d.name::text
  || ',"barcode":' || coalesce(to_json(t.barcode)::text, '""')
  || ',"price":' || d.price
  || ',"stock":' || coalesce(d.stock, '0.000')
  || ',"tracks_stock":' || (d.stock is not null)::text
  || ',"category_name":' || coalesce(${CATEGORY_NAME}, '""')
  || ',"updated_at":"' || ${utc('d.updated_at')} || '"}'`

/** SQL of whether a live item is one that tills sell. */
export const IS_PRODUCT = `t.deleted_at is null and t.type = 'product'`
