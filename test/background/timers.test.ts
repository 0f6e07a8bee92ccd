import { readdirSync, readFileSync } from 'node:fs'
import { expect } from 'chai'

const SRC = new URL('../../src/', import.meta.url)

/** Their timers end with a connection. */
const OF_A_CONNECTION = ['api/v1/event-routes.ts', 'panel/panel-live.tsx', 'public-pages/checkout-live.ts']

describe('background loops', () => {
  it('use `repeat`, so that a stop waits for the work under way; only those of a connection use a timer', () => {
    const withTimer = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.tsx?$/.test(name) && !/^(?:cli|lib|http)\//.test(name))
      .filter((name) => /\bsetInterval\(/.test(readFileSync(new URL(name, SRC), 'utf8')))
    expect(withTimer).to.have.members(OF_A_CONNECTION)
  })
})
