import { sendJson } from '#http/answer.ts'
import type { PoolOf } from '#postgres/shared-pool.ts'
import { getConfig } from '#queries/companies.ts'
import { sendSuccess } from './answer.ts'
import { tillSessionOf } from './auth.ts'
import type { SyncRoute } from './route.ts'

/** Version of the sync interface; docs/pos-sync.md lists the changes allowed within a version. */
const VERSION = '1.0'

/** Connection check of a till: user and server time (TOKEN-9). */
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

/** The company, its payment types and the logged-in user (SYNC-9). */
export const configRoute = (poolOf: PoolOf): SyncRoute => ({
  method: 'get',
  path: '/sync/config',
  async handle(_request, response) {
    const { companyId, userId } = tillSessionOf(response)
    sendJson(response, 200, `{"success":true,"data":${await getConfig(poolOf(companyId), companyId, userId)}}`)
  },
})
