import { sendJson } from '#http/answer.ts'
import type { PoolOf } from '#postgres/shared-pool.ts'
import { getConfig } from '#queries/companies.ts'
import { sendSuccess } from './answer.ts'
import { tillSessionOf } from './auth.ts'
import type { SyncRoute } from './route.ts'

/** Of the sync interface; docs/pos-sync.md says what may change under the same one. */
const VERSION = '1.0'

/** A till asks whether it is connected, who it is, and what time it is (TOKEN-9). */
export const statusRoute: SyncRoute = {
  method: 'get',
  path: '/sync/status',
  async handle(_request, response) {
    const { now, companyId, userId, userName } = tillSessionOf(response)
    sendSuccess(response, {
      server_time: now,
      company_id: companyId,
      user_id: userId,
      user_name: userName,
      version: VERSION,
    })
  },
}

/** The company, its payment types, and who is logged in (SYNC-9). */
export const configRoute = (poolOf: PoolOf): SyncRoute => ({
  method: 'get',
  path: '/sync/config',
  async handle(_request, response) {
    const { companyId, userId } = tillSessionOf(response)
    sendJson(response, 200, `{"success":true,"data":${await getConfig(poolOf(companyId), companyId, userId)}}`)
  },
})
