import { z } from 'zod'
import { SCOPES } from '../../../access/scopes.ts'
import { PLANS } from '../../../events/companies.ts'
import { RecordId, Timestamp } from '../formats.ts'

/** Who calls, what the key may do, and how often (queries/me.ts). */
export const Me = z
  .strictObject({
    company: z.strictObject({ id: RecordId, name: z.string(), cnpj: z.string() }),
    key: z.strictObject({
      id: RecordId,
      name: z.string(),
      prefix: z.string(),
      scopes: z.array(z.enum(SCOPES)),
      created_at: Timestamp,
      expires_at: Timestamp.nullable(),
    }),
    plan: z.enum(PLANS),
    server_time: Timestamp,
    limits: z.strictObject({
      requests_per_minute: z.int(),
      requests_per_day: z.int(),
      batch_items: z.int(),
      page_size: z.int(),
      body_bytes: z.int(),
    }),
  })
  .meta({ id: 'Me' })
