import { randomUUID } from 'node:crypto'
import * as z from 'zod'
import type { Config } from '#config/config.ts'
import { webAddressSetting } from '#config/values.ts'
import { demoCompany } from '#demo/companies/access.ts'
import { type CashMovement, createDrawer } from '#demo/till/drawer.ts'
import { createLine } from '#demo/till/line.ts'
import { createReturnDesk, type OfflineReturn } from '#demo/till/returns.ts'
import { openQueue } from '#demo/till/sale.ts'
import { type Credentials, createSession } from '#demo/till/session.ts'
import { createTill, playDay } from '#demo/till/till.ts'
import { invalid } from '#domain/refusal.ts'
import { Refused, type Verbs, validateInput } from './verb.ts'

const SALES = 25
const Plan = z.strictObject({ sales: z.int().min(0).max(10_000), url: webAddressSetting })
/** Small, so that a few sales need several uploads. */
const PORTION = 10

/** Simulates a day of an offline till against a running service, with connection failures at critical moments. */
export const verbs: Verbs<'till'> = {
  till: {
    async run({ config }, { url = config.PUBLIC_URL, email, password, demo, sales, queue: file = null }) {
      const credentials = await credentialsOf(config, demo ? {} : { email, password })
      const plan = validateInput(Plan, { sales: sales === undefined ? SALES : Number(sales), url })
      // Progress goes to standard error; the report is the result.
      const say = (text: string) => void process.stderr.write(`${text}\n`)
      const line = createLine(plan.url)
      const session = createSession({ line, credentials, say, random: Math.random })
      const queue = await openQueue(file)
      const world = { random: Math.random, now: () => new Date(), newId: randomUUID }
      // Beside the queue of sales: all survive a power failure.
      const movements = await openQueue<CashMovement>(file === null ? null : `${file}.cash`)
      const drawer = createDrawer({ session, queue: movements, world, say })
      const returns = await openQueue<OfflineReturn>(file === null ? null : `${file}.returns`)
      const desk = createReturnDesk({ session, queue: returns, drawer, world, say })
      const client = createTill({ session, queue, drawer, world, say, portion: PORTION })
      return playDay({ line, session, queue, drawer, desk, till: client, say }, plan.sales)
    },
  },
}

/** The given credentials, or those of the first demonstration company. */
async function credentialsOf(
  config: Config,
  { email, password }: { readonly email?: string | undefined; readonly password?: string | undefined },
): Promise<Credentials> {
  if (email !== undefined && password !== undefined) return { email, password }
  if (email !== undefined || password !== undefined) {
    throw new Refused(invalid(email === undefined ? 'email' : 'password', 'informe email e password juntos'))
  }
  return (await demoCompany(config)).user
}
