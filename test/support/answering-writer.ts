import type { Refusal } from '#domain/refusals.ts'
import type { Answer } from '#ledger/write/idempotency.ts'
import type { Request } from '#ledger/write/unit-of-work.ts'
import type { Writer } from '#ledger/write/writer.ts'

/** A writer without a database: `answer` takes the place of the unit of work. */
export const answeringWriter = (answer: (request: Request) => Promise<Answer | Refusal>): Writer => ({
  admission: [],
  queue: {
    used: 0,
    refused: 0,
    push: (pending) => void answer(pending).then(pending.resolve, pending.reject),
    idle: async () => {},
  },
})
