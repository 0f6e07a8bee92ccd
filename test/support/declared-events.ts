import assert from 'node:assert/strict'
import { EVENT_TYPES, type EventName } from '#events/catalogue.ts'
import { type Invocation, isRefusal, type NewEvent } from '#ledger/command.ts'
import type { Writer } from '#ledger/write/writer.ts'

/** Data must match the declared type exactly: an unknown or missing member fails the test. */
export function assertDeclared(event: NewEvent): void {
  const type = EVENT_TYPES[event.type as EventName]
  // Not by chai, which is slow for the many events of random histories.
  assert(type, `event type ${event.type}`)
  assert.deepStrictEqual(type.data.parse(event.data), event.data)
  assert.equal(event.version, type.version)
}

/** The writer, whose commands fail if they decide an event that is not declared so. */
export const declaring = (writer: Writer): Writer => ({
  ...writer,
  queue: Object.assign(Object.create(writer.queue), {
    push: (request: Parameters<Writer['queue']['push']>[0]) =>
      writer.queue.push({ ...request, invocations: request.invocations.map(declared) }),
  }),
})

const declared = (invocation: Invocation): Invocation => ({
  ...invocation,
  command: {
    ...invocation.command,
    decide(...asked) {
      const decision = invocation.command.decide(...asked)
      if (!isRefusal(decision)) for (const event of decision.events) assertDeclared(event)
      return decision
    },
  },
})
