import { z } from 'zod'
import { GENESIS_HASH } from '#ledger/envelope.ts'
import { NullableText } from '../formats.ts'

const Hash = z.string().regex(/^[0-9a-f]{64}$/)

const example = {
  id: '019aa5c2-6c1e-7c2f-9d11-3f0c9c6f2a10',
  type: 'CategoryCreated',
  version: 1,
  stream: 'company-1',
  revision: 1204,
  recorded_at: '2026-11-21T11:17:15.123Z',
  subject: 'category/31',
  origin: 'api',
  actor: 'api_key/4',
  request_id: '019aa5c2-6c1d-7a31-8a55-0f2f2b7c9d10',
  idempotency: {
    key: 'cat-31',
    request_hash: 'b5bb9d8014a0f9b1d61e21e796d78dccdf1352f23cd32812f4850b878ae4944c',
    status: 201,
  },
  previous_hash: '7d865e959b2466918c9863afca942d0fb89d7c9ac0c99bafc3749504ded97730',
  hash: '9c56cc51b374c3ba189210d5b6d4bf57790d351c96c47c02190ecf1e430635ab',
  data: { id: 31, external_id: 'CAT-1', name: 'Bebidas' },
}

/** An event just as it was hashed (src/ledger/envelope.ts). */
export const LedgerEvent = z
  .strictObject({
    id: z.uuid(),
    type: z.string(),
    version: z.int().min(1),
    stream: z.string(),
    revision: z.int().min(0),
    recorded_at: z.iso.datetime({ precision: 3 }),
    subject: z.string(),
    origin: z.enum(['api', 'pdv', 'system']),
    actor: NullableText,
    request_id: NullableText,
    idempotency: z.strictObject({ key: z.string(), request_hash: z.string(), status: z.int() }).nullable(),
    previous_hash: Hash,
    hash: Hash,
    data: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'LedgerEvent', examples: [example] })

const whole = { valid: true, checked: 1205, revision: 1204, hash: example.hash, first_error: null }

/** What a verification found (src/audit/walk.ts). */
export const LedgerVerification = z
  .strictObject({
    valid: z.boolean(),
    checked: z.int().min(0),
    revision: z.int().min(-1),
    hash: Hash,
    first_error: z.strictObject({ revision: z.int().min(0), reason: z.string() }).nullable(),
  })
  .meta({
    id: 'LedgerVerification',
    examples: [
      whole,
      {
        valid: false,
        checked: 0,
        revision: -1,
        hash: GENESIS_HASH,
        first_error: { revision: 0, reason: 'wrong_hash' },
      },
    ],
  })
