import type { AttestationStatus } from '#integrity/attestors/attestation-status.ts'
import { formatAsText } from './output.ts'
import type { Verbs } from './verb.ts'

export const verbs: Verbs<'ledger attestors'> = {
  'ledger attestors': {
    async run(context) {
      const shards = await context.readers()
      const isOne = shards.length === 1
      const states = shards.map(async ({ name, reader }) => {
        const { proof } = await reader.proofs()
        return (await proof.attestors()).map((state) => (isOne ? state : { shard: name, ...state }))
      })
      return (await Promise.all(states)).flat()
    },
    show: (states) =>
      formatAsText(
        (states as (AttestationStatus & { shard?: string })[]).map(
          ({ shard, source, kind, size, obtained_at, waiting, failures, failing_since, problem, detail }) => ({
            ...(shard !== undefined && { shard }),
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
