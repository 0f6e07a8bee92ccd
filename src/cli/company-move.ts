import { v7 as uuidv7 } from 'uuid'
import { z } from 'zod'
import { configOf } from '#config/config.ts'
import { invalid, refuse } from '#domain/refusal.ts'
import { moveCompany, undoMove } from '#homes/move/move.ts'
import type { Moving } from '#homes/move/moving.ts'
import type { MovingHome } from '#homes/move/moving-home.ts'
import { type Context, checked, idOf, Refused, type Verbs } from './verb.ts'

/** Does what takes a home's owner, and the database as whoever works on it sees it. */
async function withHome<T>(context: Context, name: string, work: (home: MovingHome) => Promise<T>): Promise<T> {
  const [core, { databaseUrl, ownerUrl = databaseUrl }] = [
    await context.core({ home: name }),
    await context.addresses(name),
  ]
  const { pool, store, model, keys } = core
  const dataDir = configOf(context.config, name).DATA_DIR
  const verifyTables = (companyId: number) => core.verifyTables(companyId)
  return core.asOwner((owner) =>
    work({ name, databaseUrl, ownerUrl, dataDir, pool, owner, store, model, keys, verifyTables }),
  )
}

/** Where a company lives, or has just left, whose move to a home is asked for. @throws Refused */
async function leftFor(context: Context, companyId: number, to: string): Promise<string> {
  const directory = await context.directory()
  if (!(await directory.homes()).some(({ name }) => name === to)) throw new Refused(refuse('not_found', { home: to }))
  const home = await directory.homeOf(companyId)
  if (home === null) throw new Refused(refuse('not_found', { company_id: companyId }))
  if (home !== to) return home
  // The move has come to its switch, and was not ended.
  const { pool } = await context.core({ home: to })
  const { rows } = await pool.query<{ other_home: string }>(
    `select other_home from ops.moves where company_id = $1 and direction = 'in'`,
    [companyId],
  )
  if (!rows[0]) throw new Refused(invalid('to', 'a empresa já está lá'))
  return rows[0].other_home
}

const WAIT = 'deve ser um número de segundos de 0 a 3600'
/** Seconds as typed. */
const Wait = z.object({
  answersMs: z
    .string()
    .regex(/^\d{1,4}$/, WAIT)
    .transform((seconds) => Number(seconds) * 1_000)
    .refine((ms) => ms <= 3_600_000, WAIT),
})

export const verbs: Verbs<'company move'> = {
  'company move': {
    async run(context, { company, to, undo, keep, wait = '60' }) {
      const companyId = idOf(company)
      const { answersMs } = checked(Wait, { answersMs: wait })
      const leaves = await leftFor(context, companyId, to)
      const { pool: main } = await context.core()
      return withHome(context, leaves, (from) =>
        withHome(context, to, async (target) => {
          const moving: Moving = {
            companyId,
            from,
            to: target,
            main,
            tell: (line) => process.stderr.write(`${line}\n`),
            newId: uuidv7,
            answersMs,
            keep: keep !== undefined,
          }
          if (undo === undefined) return moveCompany(moving)
          await undoMove(moving)
          return { company_id: companyId, home: leaves }
        }),
      )
    },
  },
}
