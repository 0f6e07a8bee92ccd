import { isRefusal } from '#ledger/command.ts'
import type { Answer, CommandResult, Request } from '#ledger/write/unit-of-work.ts'
import type { Writer } from '#ledger/write/writer.ts'
import { Unavailable } from '#lib/errors.ts'
import type { Metrics } from './metrics.ts'

type Counting = Pick<Metrics, 'onCommands' | 'onRefused' | 'onUnanswered'>

/**
 * Counts the outcomes of a writer. Commands of a batch count one by one, with their final outcome, not that of retried
 * attempts.
 */
export function countedWriter(writer: Writer, metrics: Counting): Writer {
  return {
    idle: writer.idle,
    async run(request) {
      const results: { last: readonly CommandResult[] } = { last: [] }
      const commands = request.invocations.length
      metrics.onUnanswered(commands)
      try {
        const answer = await writer.run(remembering(request, results))
        if (isRefusal(answer)) count(metrics, [answer])
        else if (answer.replayed) metrics.onCommands('replayed', commands)
        else count(metrics, request.reply.compose ? results.last : [answer])
        return answer
      } catch (error) {
        metrics.onCommands(error instanceof Unavailable ? 'unavailable' : 'failed', commands)
        throw error
      } finally {
        metrics.onUnanswered(-commands)
      }
    },
  }
}

/** The results of a batch are visible to its own `compose` only. */
function remembering(request: Request, results: { last: readonly CommandResult[] }): Request {
  const { reply } = request
  const { compose } = reply
  if (!compose) return request
  const remember = (all: readonly CommandResult[]) => {
    results.last = all
    return compose.call(reply, all)
  }
  return { ...request, reply: { ...reply, compose: remember } }
}

function count(metrics: Counting, results: readonly (CommandResult | Answer)[]): void {
  let accepted = 0
  for (const result of results) {
    if (!isRefusal(result)) accepted += 1
    else {
      metrics.onCommands('refused', 1)
      metrics.onRefused(result.refused)
    }
  }
  if (accepted > 0) metrics.onCommands('accepted', accepted)
}
