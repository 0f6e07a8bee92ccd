import { sendJson } from '#http/answer.ts'
import type { PoolOf } from '#postgres/shared-pool.ts'
import { getConfig } from '#queries/companies.ts'
import { fullReader } from '#queries/reader.ts'
import { sendSuccess } from './answer.ts'
import { tillSessionOf } from './auth.ts'
import { SYNC_OPERATIONS, SYNC_VERSION } from './operations.ts'
import type { SyncRoute } from './route.ts'

/** Connection check of a till: user and server time. */
export const statusRoute: SyncRoute = {
  ...SYNC_OPERATIONS.status,
  async handle(_request, response) {
    const { now, companyId, userId, userName } = tillSessionOf(response)
    sendSuccess(response, {
      server_time: now,
      company_id: companyId,
      user_id: userId,
      user_name: userName,
      version: SYNC_VERSION,
    })
  },
}

/** The company, its payment types and the logged-in user. */
export const configRoute = (poolOf: PoolOf, publicUrl: string): SyncRoute => ({
  ...SYNC_OPERATIONS.config,
  async handle(_request, response) {
    const { companyId, userId } = tillSessionOf(response)
    const config = await getConfig(fullReader(poolOf(companyId), companyId), userId, publicUrl)
    sendJson(response, 200, `{"success":true,"data":${config}}`)
  },
})
