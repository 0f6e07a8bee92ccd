import { CashMovementInput, closeCashSession, recordCashMovement } from '#commands/cash-commands.ts'
import type { Cases } from './case.ts'
import type { World } from './world.ts'

/** Name of a session of a till, closed with a count. */
async function closedSession({ company, unique, cash }: World): Promise<string> {
  const session_id = unique('caixa')
  const movement = (kind: string, fields: object) =>
    CashMovementInput.parse({
      ...{ offline_id: `${session_id}-${kind}`, session_id, kind, at: '2026-11-21T11:00:00.000Z' },
      ...fields,
    })
  await company.run(recordCashMovement, movement('opened', { amount: 150 }), 'pdv')
  await company.run(closeCashSession, movement('closed', { counted: { cash: 149, [cash]: 0 } }), 'pdv')
  return session_id
}

export const cashCases: Cases = {
  listCashSessions: {
    200: async (world) => ({ query: { session_id: await closedSession(world), status: 'closed' } }),
  },
  getCashSession: {
    200: async (world) => {
      const session_id = await closedSession(world)
      const { data } = (await world.company.get(`/cash-sessions?session_id=${session_id}`)).body
      return { params: { id: data[0].id } }
    },
  },
}
