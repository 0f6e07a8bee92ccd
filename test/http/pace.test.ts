import type { IncomingMessage } from 'node:http'
import { expect } from 'chai'
import { watchPace } from '#http/pace.ts'
import { until } from '../support/wait.ts'

describe('the pace of a body', () => {
  it('is looked at from when somebody reads it: who waits for a turn is not late [OPS-63]', async () => {
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
