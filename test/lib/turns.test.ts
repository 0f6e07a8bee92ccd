import { expect } from 'chai'
import { createTurns, type Turns } from '#lib/turns.ts'

const NEVER = new AbortController().signal

describe('turns', () => {
  /** Enters when it is the key's turn, and tells so. */
  function enter(turns: Turns, log: string[], name: string, signal = NEVER): { leave(): void; done: Promise<void> } {
    let leave: (() => void) | null = null
    const done = turns.enter(Number(name[0]), signal).then((entered) => {
      leave = entered
      log.push(entered ? name : `${name} refused`)
    })
    return { leave: () => leave?.(), done }
  }
  const settled = () => new Promise((resolve) => setImmediate(resolve))

  it('are one of a key at a time, and only so many of all keys', async () => {
    const log: string[] = []
    const turns = createTurns({ running: 2, waiting: 4 })
    const [a, b, c, d] = ['1a', '1b', '2a', '3a'].map((name) => enter(turns, log, name))
    await settled()
    expect(log).to.deep.equal(['1a', '2a'])
    c?.leave()
    await settled()
    expect(log).to.deep.equal(['1a', '2a', '3a'])
    a?.leave()
    await settled()
    expect(log).to.deep.equal(['1a', '2a', '3a', '1b'])
    b?.leave()
    d?.leave()
  })

  it('go round the keys, however many wait of one [ASOF-6]', async () => {
    const log: string[] = []
    const turns = createTurns({ running: 1, waiting: 4 })
    const all = ['1a', '1b', '1c', '1d', '2a', '3a', '2b'].map((name) => enter(turns, log, name))
    for (let n = 0; n < all.length; n++) {
      await settled()
      for (const each of all) if (log.length === n + 1) each.leave()
    }
    expect(log).to.deep.equal(['1a', '1b', '2a', '3a', '1c', '2b', '1d'])
  })

  it('are refused at once where too many of the key wait, whoever else does not [ASOF-6]', async () => {
    const log: string[] = []
    const turns = createTurns({ running: 1, waiting: 1 })
    const [a] = ['1a', '1b', '1c', '2a'].map((name) => enter(turns, log, name))
    await settled()
    expect(log).to.deep.equal(['1a', '1c refused'])
    a?.leave()
    await settled()
    expect(log).to.deep.equal(['1a', '1c refused', '1b'])
  })

  it('are given up by whoever does not wait any longer, and go to the next', async () => {
    const log: string[] = []
    const turns = createTurns({ running: 1, waiting: 2 })
    const gone = new AbortController()
    const [a] = [enter(turns, log, '1a'), enter(turns, log, '2a', gone.signal), enter(turns, log, '3a')]
    await settled()
    gone.abort()
    await settled()
    expect(log).to.deep.equal(['1a', '2a refused'])
    a?.leave()
    await settled()
    expect(log).to.deep.equal(['1a', '2a refused', '3a'])
    const late = enter(turns, log, '4a', AbortSignal.abort())
    await late.done
    expect(log.at(-1)).to.equal('4a refused')
  })
})
