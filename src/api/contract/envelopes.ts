import * as z from 'zod'
import { WARNING_CODES } from '#commands/catalog/item-input.ts'
import { BatchError } from './errors.ts'
import { ContractRecordId, NullableText, Timestamp } from './formats.ts'

/** `{"data": <record>}` */
export const singleOf = (record: z.ZodType) => z.strictObject({ data: record })

const warningShape = {
  code: z.enum(WARNING_CODES),
  field: z.string(),
  message: z.string(),
  /** Only present if the warning is about another record. */
  conflicting_id: ContractRecordId.optional(),
  /** Only present in `payment_already_used`: the other sale. */
  sale_id: ContractRecordId.optional(),
}
const ShownWarning = z.strictObject(warningShape).meta({ id: 'Warning' })
const BatchWarning = z.strictObject({ index: z.int().min(0).max(499), ...warningShape }).meta({ id: 'BatchWarning' })

const WarningsMeta = z.strictObject({ warnings: z.array(ShownWarning).min(1) }).meta({ id: 'WarningsMeta' })

/** `{"data": <record>}`, with `meta` if the request was accepted with warnings. */
export const warnedOf = (record: z.ZodType) => z.strictObject({ data: record, meta: WarningsMeta.optional() })

const lastPage = { has_more: false, next_cursor: null, limit: 50, synced_at: '2026-11-21T08:17:15.123-03:00' }

const PageMeta = z
  .strictObject({
    has_more: z.boolean(),
    next_cursor: NullableText,
    limit: z.int().min(1).max(200),
    synced_at: Timestamp,
  })
  .meta({ id: 'PageMeta', examples: [lastPage] })

/** A page of a list. */
export const pageSchemaOf = (record: z.ZodType) => z.strictObject({ data: z.array(record), meta: PageMeta })

/** An entry of a deleted listing. */
const DeletedRecord = z.strictObject({ id: ContractRecordId, external_id: NullableText, deleted_at: Timestamp }).meta({
  id: 'DeletedRecord',
  examples: [{ id: 17, external_id: 'CLI-001', deleted_at: '2026-11-21T08:17:15.123-03:00' }],
})

/** Record in a webhook about an erased person; used by webhooks only. */
export const ForgottenRecord = z
  .strictObject({ id: ContractRecordId, external_id: NullableText, forgotten_at: Timestamp })
  .meta({
    id: 'ForgottenRecord',
    examples: [{ id: 17, external_id: 'CLI-001', forgotten_at: '2026-11-21T08:17:15.123-03:00' }],
  })

export const deletedPage = pageSchemaOf(DeletedRecord)

/** Of any batch; only some batches warn. */
const BatchMeta = z
  .strictObject({
    succeeded: z.int().min(0).max(500),
    failed: z.int().min(0).max(500),
    errors: z.array(BatchError),
    warnings: z.array(BatchWarning).min(1).optional(),
  })
  .meta({ id: 'BatchMeta' })

/** Answer to a batch: the current records, and an entry per failed item. */
export const batchResultOf = (record: z.ZodType) => z.strictObject({ data: z.array(record), meta: BatchMeta })
