import { expect } from 'chai'
import { messagesOf, type News, newsOf, TOO_MUCH } from '#live/payload.ts'

const news = (count: number, base = 1): News[] =>
  Array.from({ length: count }, (_, n) => ({ companyId: base + n, revision: base + 2 * n }))

describe('messages of news', () => {
  it('tell what was put in', () => {
    for (const count of [1, 2, 200, 201, 2_000]) {
      expect(
        messagesOf(news(count)).flatMap((message) => newsOf(message) ?? []),
        String(count),
      ).to.deep.equal(news(count))
    }
  })

  it('are short enough for Postgres, however large the numbers', () => {
    const messages = messagesOf(news(2_000, Number.MAX_SAFE_INTEGER - 5_000))
    expect(messages).to.have.length(10)
    for (const message of messages) expect(Buffer.byteLength(message)).to.be.below(8_000)
  })

  it('are one that makes everybody look where there would be too many', () => {
    expect(messagesOf(news(2_001))).to.deep.equal([TOO_MUCH])
    expect(newsOf(TOO_MUCH)).to.equal(null)
  })

  it('of another form make everybody look', () => {
    for (const message of ['', '1', '1:', ':1', '1:2,', '1:2;3:4', '-1:2', '1:99999999999999999', 'x'])
      expect(newsOf(message), message).to.equal(null)
  })
})
