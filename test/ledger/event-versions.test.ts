import { expect } from 'chai'
import * as z from 'zod'
import { eventType, money, newVersion, text, upcasterOf } from '#events/event-definitions.ts'
import { Unavailable } from '#lib/errors.ts'
import { createOutsideStore } from '../support/outside-store.ts'
import { describeEventVersions } from './event-versions.ts'
import { sealedAfter } from './sealed-events.ts'

describeEventVersions('Postgres', () => null)
describeEventVersions('the stand-in for a store outside the transaction', createOutsideStore)

describe('upcaster', () => {
  const first = eventType('thing', { note: text })
  const second = newVersion(first, { notes: z.array(text) }, ({ id, note }) => ({ id, notes: [note] }))
  const Noted = newVersion(second, { notes: z.array(text), price: money }, (data, { revision }) => ({
    ...data,
    price: `${revision}.00`,
  }))
  const upcast = upcasterOf({ Noted })
  const stored = (version: number, data: object) => {
    const [event] = sealedAfter('company-1', null, [{ type: 'Noted', subject: 'thing/1', data }])
    if (!event) throw new Error('one event was asked for')
    return { ...event, version }
  }

  it('converts from version to version without changing the stored event', () => {
    for (const [version, data] of [
      [1, { id: 1, note: 'a' }],
      [2, { id: 1, notes: ['a'] }],
    ] as const) {
      const event = Object.freeze(stored(version, Object.freeze(data)))
      expect(upcast(event)).to.deep.equal({ ...event, version: 3, data: { id: 1, notes: ['a'], price: '0.00' } })
    }
  })

  it('returns events of the newest version and of unknown types unchanged', () => {
    for (const event of [stored(3, { id: 1, notes: [], price: '1.00' }), { ...stored(7, {}), type: 'constructor' }])
      expect(upcast(event)).to.equal(event)
  })

  it('refuses future versions and versions that never existed', () => {
    for (const version of [4, 0, -1, 1.5])
      expect(() => upcast(stored(version, {}))).to.throw(Unavailable, `does not know version ${version} of Noted`)
  })
})
