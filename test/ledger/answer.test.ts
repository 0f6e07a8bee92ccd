import { expect } from 'chai'
import { type AnswerOutcome, answerStatusOf, createAnswer, recordedOutcomeOf } from '#ledger/write/idempotency.ts'

describe('an answer', () => {
  it('parses its record from the text that is stored', () => {
    const json = '{"id":1,"price":"2.50"}'
    expect(createAnswer({ outcome: 'created', json }, { revision: 3 })).to.deep.equal({
      outcome: 'created',
      json,
      record: { id: 1, price: '2.50' },
      meta: null,
      results: [],
      replayed: false,
      revision: 3,
    })
  })

  it('has no record without text', () => {
    expect(createAnswer({ outcome: 'deleted', json: '' }, { revision: 3 }).record).to.equal(null)
  })

  for (const [outcome, status] of [
    ['created', 201],
    ['updated', 200],
    ['deleted', 204],
    ['queued', 202],
  ] as [AnswerOutcome, number][])
    it(`${outcome} is recorded as ${status} and restored from it [IDEM-7]`, () => {
      expect(answerStatusOf(outcome)).to.equal(status)
      expect(recordedOutcomeOf(status)).to.equal(outcome)
    })
})
