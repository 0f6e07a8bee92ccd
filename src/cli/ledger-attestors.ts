import type { AttestationStatus } from '#integrity/attestors/attestation-status.ts'
import { forPeople } from './output.ts'
import type { Verbs } from './verb.ts'

export const verbs: Verbs<'ledger outsiders'> = {
  'ledger outsiders': {
    async run(context) {
      const homes = await context.homes()
      const isOne = homes.length === 1
      const states = homes.map(async ({ name, core }) =>
        (await core.proof.outsiders()).map((state) => (isOne ? state : { home: name, ...state })),
      )
      return (await Promise.all(states)).flat()
    },
    show: (states) =>
      forPeople(
        (states as (AttestationStatus & { home?: string })[]).map(
          ({ home, source, kind, size, obtained_at, waiting, failures, problem, detail }) => ({
            ...(home !== undefined && { home }),
            source,
            kind,
            size,
            obtained_at,
            waiting,
            failures,
            problem,
            detail,
          }),
        ),
      ),
    isBad: (states) => (states as AttestationStatus[]).some(({ problem }) => problem !== null),
  },
}
