import * as z from 'zod'
import { ForgetInput, forgetPerson } from '#commands/people/forget-person.ts'
import { PERSON_KINDS } from '#domain/personal-data.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { parseSubject } from '#ledger/projection.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import { accepted, companyIdFrom, parseIdArgument, Refused, type Verbs, validateInput } from './verb.ts'

const KINDS = z.enum(PERSON_KINDS)

/** Years as text: `5y` or `5`. */
const Retention = z.object({
  retention: z
    .string()
    .regex(/^\d{1,3}y?$/, 'must be a number of years, as 5y')
    .transform((text) => Number.parseInt(text, 10))
    .optional(),
})

/** @throws Refused if the subject is no person. */
function personOf(subject: string) {
  const kind = KINDS.safeParse(parseSubject(subject).type)
  if (!kind.success) throw new Refused(refuse('not_found', { subject }))
  return { kind: kind.data, id: parseIdArgument(subject.slice(kind.data.length + 1)) }
}

export const verbs: Verbs<'person forget'> = {
  'person forget': {
    async run(context, { company, subject, ground, reason, retention, queue }) {
      const person = personOf(subject)
      const input = validateInput(ForgetInput, { ground, reason, queue: queue === 'true' })
      const { retention: years } = validateInput(Retention, { retention })
      const { core, companyId } = await companyIdFrom(context, company)
      const retention_years = years ?? context.config.RETENTION_YEARS
      const answer: object | null | Refusal = await runAsSystem(core.writer, companyId, forgetPerson, {
        ...person,
        ...input,
        retention_years,
      })
      // A deleted record has no answer.
      return answer === null ? { subject } : accepted(answer)
    },
  },
}
