import { z } from 'zod'
import { readAsOf } from '#api/read-as-of.ts'
import type { Moment } from '#audit/as-of.ts'
import { Instant } from '#domain/instant.ts'
import { accepted, checked, companyOf, required, verb } from './verb.ts'

const AT = 'deve ser uma revisão do livro ou uma data com hora e fuso, como "2026-11-21T08:17:15-03:00"'

const Flags = z.object({
  at: z.union(
    [
      z
        .string()
        .regex(/^\d{1,15}$/)
        .transform((text): Moment => ({ revision: Number(text) })),
      Instant.transform((time): Moment => ({ time })),
    ],
    AT,
  ),
})

export const asOfVerb = verb({
  summary: 'answers a GET of API v1 as it was answered at a revision or time; what is not of the ledger has no past',
  flags: { company: required('ID'), at: required('TIME|REVISION'), get: required('/sales/9') },
  async run(context, { company, at, get }) {
    const moment = checked(Flags, { at }).at
    const core = await context.core()
    const { body } = accepted(await readAsOf(core, await companyOf(core, company), moment, get))
    return JSON.parse(body) as object
  },
  show: (answer) => JSON.stringify(answer, null, 2),
})
