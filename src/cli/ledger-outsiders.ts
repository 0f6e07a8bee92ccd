import type { OutsiderState } from '#proof/outsiders/states.ts'
import { forPeople } from './output.ts'
import type { Verbs } from './verb.ts'

export const verbs: Verbs<'ledger outsiders'> = {
  'ledger outsiders': {
    run: async (context) => (await context.core()).proof.outsiders(),
    show: (states) =>
      forPeople(
        (states as OutsiderState[]).map(({ source, kind, size, obtained_at, waiting, failures, problem, detail }) => ({
          source,
          kind,
          size,
          obtained_at,
          waiting,
          failures,
          problem,
          detail,
        })),
      ),
    isBad: (states) => (states as OutsiderState[]).some(({ problem }) => problem !== null),
  },
}
