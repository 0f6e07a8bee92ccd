import { expect } from 'chai'
import { createTakesPix } from '#public-pages/checkout-page.tsx'

describe('checkout page: Pix support of a store', () => {
  it('is queried once in five minutes, and again afterwards', async () => {
    let now_ms = 1
    let asked = 0
    const takesPix = createTakesPix(() => now_ms)
    const ask = async () => {
      asked += 1
      return asked === 1 ? (['pix'] as const) : ([] as const)
    }
    expect(await takesPix('loja', ask)).to.equal(true)
    now_ms += 300_000
    expect(await takesPix('loja', ask)).to.equal(true)
    now_ms += 1
    expect(await takesPix('loja', ask)).to.equal(false)
    expect(asked).to.equal(2)
  })

  it('is assumed if the query fails', async () => {
    const takesPix = createTakesPix(() => 1)
    expect(await takesPix('loja', () => Promise.reject(new Error('down')))).to.equal(true)
  })
})
