import type { SaleObject } from '#projections/sales.ts'
import type { SaleUpload } from '#queries/sales/sales.ts'
import { SALE_STATUSES, warningText } from '../words/sales.ts'
import { Badge } from './parts.tsx'

export const SaleStatus = ({ status }: Pick<SaleObject, 'status'>) => {
  const [name, tone] = SALE_STATUSES[status]
  return <Badge tone={tone}>{name}</Badge>
}

interface WarningsProps {
  readonly sale: Pick<SaleObject, 'items'>
  readonly upload: Pick<SaleUpload, 'warnings'>
  readonly timezone: string
}

/** What somebody should look at in a sale that a till has uploaded; null where there is nothing. */
export const Warnings = ({ sale, upload, timezone }: WarningsProps) =>
  upload.warnings.length === 0 ? null : (
    <ul class="warnings">
      {upload.warnings.map((warning) => {
        const { product_id } = warning
        const item = sale.items.find(({ catalog_item_id }) => catalog_item_id === product_id)
        const text = warningText(warning, item?.description ?? `produto ${product_id}`, timezone)
        return <li key={text}>{text}</li>
      })}
    </ul>
  )
