import { getMe } from '#queries/api-keys.ts'
import { singleOf } from '../contract/envelopes.ts'
import { Me } from '../contract/records/me.ts'
import { read } from '../route.ts'

/** Items of a batch and of a page at most (BATCH-1, LIST-2). */
const FIXED_LIMITS = { batch_items: 500, page_size: 200, body_bytes: 1_048_576 }

export const meRoute = read({
  path: '/me',
  scope: null,
  operation: 'getMe',
  summary: 'Empresa, chave e limites de quem chama',
  reply: singleOf(Me),
  async read({ pool, caller, limits }) {
    const found = await getMe(pool, caller.companyId, caller.keyId)
    if (!found) return null
    const data = {
      ...found.me,
      limits: { requests_per_minute: limits.perMinute, requests_per_day: limits.perDay, ...FIXED_LIMITS },
    }
    return { body: JSON.stringify({ data }), revision: found.revision }
  },
})
