import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { expect } from 'chai'
import { watchPace, watchReaders } from '#http/server.ts'
import { until } from '../support/wait.ts'

describe('minimum pace of a body', () => {
  it('is measured from the start of reading: a queued request is not late [OPS-63]', async () => {
    let looks = 0
    let isRead = false
    let isLate = false
    const request = {
      headers: { 'content-length': '20000' },
      socket: { bytesRead: 300 },
      complete: false,
      get readableFlowing() {
        looks += 1
        return isRead ? true : null
      },
    } as unknown as IncomingMessage
    const pace = { body_ms: 20, grace_ms: 5, bytesPerSecond: 1_024, look_ms: 1 }
    const unwatch = watchPace(request, pace, () => {
      isLate = true
    })
    const began = performance.now()
    await until(() => performance.now() - began > 3 * pace.body_ms && looks > 20)
    expect(isLate).to.equal(false)
    isRead = true
    await until(() => isLate)
    unwatch()
  })
})

describe('minimum pace of a client that reads a response', () => {
  const pace = { readerBytesPerSecond: 1_000_000, reader_ms: 30, look_ms: 1 }

  /**
   * Connection with `pending` unsent bytes at any time, of which the client reads `bytesPerSecond`; records whether it
   * counts as late.
   */
  function watched({ pending, bytesPerSecond }: { pending: number; bytesPerSecond: number }) {
    const began = performance.now()
    let [looks, isLate] = [0, false]
    const socket = {
      get writableLength() {
        looks += 1
        return pending
      },
      get bytesWritten() {
        return pending + ((performance.now() - began) / 1_000) * bytesPerSecond
      },
    } as unknown as Socket
    const end = watchReaders(new Set([socket]), pace, () => {
      isLate = true
    })
    const longer = () => performance.now() - began > 5 * pace.reader_ms && looks > 20
    return { end, isLate: () => isLate, longer }
  }

  it('closes a connection below the pace [OPS-26]', async () => {
    const { end, isLate } = watched({ pending: 1_000, bytesPerSecond: 500_000 })
    await until(isLate)
    end()
  })

  it('keeps a connection at the pace for any duration [OPS-26]', async () => {
    const { end, isLate, longer } = watched({ pending: 1_000, bytesPerSecond: 1_500_000 })
    await until(longer)
    expect(isLate()).to.equal(false)
    end()
  })

  it('keeps a connection with one large chunk, because its progress is not visible [OPS-26]', async () => {
    const { end, isLate, longer } = watched({ pending: 50_000_000, bytesPerSecond: 0 })
    await until(longer)
    expect(isLate()).to.equal(false)
    end()
  })
})
