import { sendSuccess } from './answer.ts'
import type { SyncRoute } from './route.ts'
import { sessionOf } from './session.ts'

/** Of the sync interface; docs/pos-sync.md says what may change under the same one. */
const VERSION = '1.0'

/** A till asks whether it is connected, who it is, and what time it is (spec, Endpoints). */
export const statusRoute: SyncRoute = {
  method: 'get',
  path: '/sync/status',
  async handle(_request, response) {
    const { now, companyId, userId, userName } = sessionOf(response)
    sendSuccess(response, {
      server_time: now,
      company_id: companyId,
      user_id: userId,
      user_name: userName,
      version: VERSION,
    })
  },
}
