import { expect } from 'chai'
import { replicaLag } from '#ledger/replicas/replicas.ts'

describe('lag of a read replica', () => {
  const written = [
    { at_ms: 1_000, bytes: 500 },
    { at_ms: 2_000, bytes: 700 },
    { at_ms: 3_000, bytes: 900 },
  ]

  it('is zero once it has the whole log, regardless of the age of the last commit [READ-924]', () => {
    expect(replicaLag(written, { bytes: 900, commit_age_ms: 3_600_000 }, 3_010)).to.equal(0)
    expect(replicaLag(written, { bytes: 950, commit_age_ms: null }, 3_010)).to.equal(0)
  })

  it('is at most the time since it was level, or since its last commit [READ-924]', () => {
    expect(
      replicaLag(written, { bytes: 700, commit_age_ms: 3_600_000 }, 3_010),
      'the first commit after an hour',
    ).to.equal(1_010)
    expect(replicaLag(written, { bytes: 899, commit_age_ms: 4 }, 3_010), 'one of many commits').to.equal(4)
    expect(replicaLag(written, { bytes: 600, commit_age_ms: 4_000 }, 3_010)).to.equal(2_010)
    expect(replicaLag(written, { bytes: 899, commit_age_ms: -20 }, 3_010)).to.equal(0)
  })

  it('exceeds any bound if it has never been level and shows no commit [READ-924]', () => {
    expect(replicaLag(written, { bytes: 10, commit_age_ms: null }, 3_010)).to.equal(Number.POSITIVE_INFINITY)
    expect(replicaLag([], { bytes: 10, commit_age_ms: null }, 3_010)).to.equal(Number.POSITIVE_INFINITY)
    expect(replicaLag(written, { bytes: 10, commit_age_ms: 9_000 }, 3_010)).to.equal(9_000)
  })
})
