import { isRefusal } from '#ledger/command.ts'
import type { CommandResult } from '#ledger/write/answer.ts'
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
    ...writer,
    async around(request, write) {
      const commands = request.invocations.length
      metrics.onUnanswered(commands)
      try {
        const answer = await write()
        if (isRefusal(answer)) count(metrics, [answer])
        else if (answer.replayed) metrics.onCommands('replayed', commands)
        else count(metrics, answer.results)
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

function count(metrics: Counting, results: readonly CommandResult[]): void {
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
