import { expect } from 'chai'
import { decodePositions, EVERY_COMPANY, encodePositions, type LedgerPosition } from '#http/live-updates.ts'

const positions = (count: number, base = 1): LedgerPosition[] =>
  Array.from({ length: count }, (_, n) => ({ companyId: base + n, revision: base + 2 * n }))

describe('messages with ledger positions', () => {
  it('decode to the encoded positions', () => {
    for (const count of [1, 2, 200, 201, 2_000]) {
      expect(
        encodePositions(positions(count)).flatMap((message) => decodePositions(message) ?? []),
        String(count),
      ).to.deep.equal(positions(count))
    }
  })

  it('fit the size limit of Postgres for any numbers', () => {
    const messages = encodePositions(positions(2_000, Number.MAX_SAFE_INTEGER - 5_000))
    expect(messages).to.have.length(10)
    for (const message of messages) expect(Buffer.byteLength(message)).to.be.below(8_000)
  })

  it('are one message for all companies if there are too many positions', () => {
    expect(encodePositions(positions(2_001))).to.deep.equal([EVERY_COMPANY])
    expect(decodePositions(EVERY_COMPANY)).to.equal(null)
  })

  it('with invalid content mean all companies', () => {
    for (const message of ['', '1', '1:', ':1', '1:2,', '1:2;3:4', '-1:2', '1:99999999999999999', 'x'])
      expect(decodePositions(message), message).to.equal(null)
  })
})
