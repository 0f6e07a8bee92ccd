import { expect } from 'chai'
import { isSealed } from '#crypto/vault.ts'
import { type Envelope, streamName } from '#ledger/command.ts'
import { type EventReader, readNewest } from '#ledger/port.ts'
import { readModel } from '#projections/index.ts'

/** A company's ledger as projections see it. */
export async function openedEvents(reading: EventReader, companyId: number): Promise<Envelope[]> {
  const events: Envelope[] = []
  for await (const event of readNewest(reading, streamName(companyId), 0)) events.push(event)
  return events
}

/** Values of an event's personal fields, without absent ones. */
export const personalValues = (event: Envelope): unknown[] =>
  readModel.personalFields(event).flatMap(({ path }) => {
    let value: unknown = event.data
    for (const name of path) value = (value as Record<string, unknown> | null | undefined)?.[name]
    return value === undefined || value === null ? [] : [value]
  })

/** Asserts that no personal data is stored in clear. */
export function expectSealed(stored: readonly Envelope[]): void {
  for (const event of stored)
    for (const value of personalValues(event)) expect(isSealed(value), event.type).to.equal(true)
}
