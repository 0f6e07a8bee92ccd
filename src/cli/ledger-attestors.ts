import type { AttestationStatus } from '#integrity/attestors/attestation-status.ts'
import { formatAsText } from './output.ts'
import type { Verbs } from './verb.ts'

export const verbs: Verbs<'ledger attestors'> = {
  'ledger attestors': {
    async run(context) {
      const { proof } = await (await context.reader()).proofs()
      return proof.attestors()
    },
    show: (states) =>
      formatAsText(
        (states as AttestationStatus[]).map(
          ({ source, kind, size, obtained_at, waiting, failures, failing_since, problem, detail }) => ({
            source,
            kind,
            size,
            obtained_at,
            waiting,
            failures,
            failing_since,
            problem,
            detail,
          }),
        ),
      ),
    isBad: (states) => (states as AttestationStatus[]).some(({ problem }) => problem !== null),
  },
}
