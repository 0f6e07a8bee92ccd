import type { Pool } from 'pg'
import { sendJson } from '#http/answer.ts'
import { getConfig } from '#queries/companies.ts'
import type { SyncRoute } from './route.ts'
import { sessionOf } from './session.ts'

/** The company, its payment types, and who is logged in (spec, Company configuration). */
export const configRoute = (pool: Pool): SyncRoute => ({
  method: 'get',
  path: '/sync/config',
  async handle(_request, response) {
    const { companyId, userId } = sessionOf(response)
    sendJson(response, 200, `{"success":true,"data":${await getConfig(pool, companyId, userId)}}`)
  },
})
