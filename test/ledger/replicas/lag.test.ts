import { expect } from 'chai'
import { replicaLag } from '#ledger/replicas/lag.ts'

describe('how far a standby is behind', () => {
  const written = [
    { at_ms: 1_000, bytes: 500 },
    { at_ms: 2_000, bytes: 700 },
    { at_ms: 3_000, bytes: 900 },
  ]

  it('is nothing once it has all of the log, however long ago the last commit was [HOME-104]', () => {
    expect(replicaLag(written, { bytes: 900, commit_age_ms: 3_600_000 }, 3_010)).to.equal(0)
    expect(replicaLag(written, { bytes: 950, commit_age_ms: null }, 3_010)).to.equal(0)
  })

  it('is at most the time since it was level, or since its last commit was made [HOME-104]', () => {
    expect(
      replicaLag(written, { bytes: 700, commit_age_ms: 3_600_000 }, 3_010),
      'the first commit after an hour',
    ).to.equal(1_010)
    expect(replicaLag(written, { bytes: 899, commit_age_ms: 4 }, 3_010), 'one of many commits').to.equal(4)
    expect(replicaLag(written, { bytes: 600, commit_age_ms: 4_000 }, 3_010)).to.equal(2_010)
    expect(replicaLag(written, { bytes: 899, commit_age_ms: -20 }, 3_010)).to.equal(0)
  })

  it('is beyond any bound of one that has never been level, and shows no commit [HOME-104]', () => {
    expect(replicaLag(written, { bytes: 10, commit_age_ms: null }, 3_010)).to.equal(Number.POSITIVE_INFINITY)
    expect(replicaLag([], { bytes: 10, commit_age_ms: null }, 3_010)).to.equal(Number.POSITIVE_INFINITY)
    expect(replicaLag(written, { bytes: 10, commit_age_ms: 9_000 }, 3_010)).to.equal(9_000)
  })
})
