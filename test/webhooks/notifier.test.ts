import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import type { Pool } from 'pg'
import { createDeliveryNotifier } from '#webhooks/outbox.ts'
import { until } from '../support/wait.ts'

describe('a delivery notifier', () => {
  function opened() {
    const sent: string[] = []
    const pool = { query: async ({ values }: { values: [string] }) => void sent.push(values[0]) } as unknown as Pool
    return { sent, notifier: createDeliveryNotifier(pool, 'this process', () => {}) }
  }

  it('wakes its own dispatcher at each call, and other processes in groups', async () => {
    const { sent, notifier } = opened()
    let wakes = 0
    notifier.onNotify(() => (wakes += 1))
    notifier.notify()
    await until(() => sent.length === 1)
    for (let n = 0; n < 5; n++) {
      notifier.notify()
      await nextTurn()
    }
    await notifier.close()
    expect(wakes).to.equal(6)
    expect(sent).to.deep.equal(['this process', 'this process'])
  })

  it('notifies other processes of each call if it has no dispatcher', async () => {
    const { sent, notifier } = opened()
    for (let n = 1; n < 4; n++) {
      notifier.notify()
      await until(() => sent.length === n)
    }
    await notifier.close()
    expect(sent).to.have.length(3)
  })
})
