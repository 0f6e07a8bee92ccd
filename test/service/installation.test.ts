import { expect } from 'chai'
import type { Inconsistency } from '#integrity/installation-check.ts'
import { watchInstallation } from '#service/process.ts'

/** Actions of a process for the result of its first installation check, and of the next one. */
async function seen(
  first: Inconsistency | null,
  then: Inconsistency | null,
  { wasCopy, isCopy } = { wasCopy: false, isCopy: false },
) {
  const done: string[] = []
  let inconsistency = first
  let copy = wasCopy
  let hasLooked = () => {}
  const looked = new Promise<void>((resolve) => {
    hasLooked = resolve
  })
  const installationCheck = {
    inconsistency: () => inconsistency,
    isCopy: () => copy,
    async look() {
      inconsistency = then
      copy = isCopy
      hasLooked()
      return then
    },
    note: async () => void done.push('note'),
  }
  const logger = {
    error: ({ installation }: { installation: string }) => done.push(installation),
    warn: () => done.push('copy'),
  }
  const watching = watchInstallation({
    core: { installationCheck },
    metrics: { gauge: () => {} },
    logger,
    log: (message: string) => done.push(message),
    begin: () => done.push('begin'),
    onEnd: () => done.push('end'),
  } as unknown as Parameters<typeof watchInstallation>[0])
  await looked
  await watching.stop()
  return done
}

describe('background roles', () => {
  it('start at once if nothing is wrong, and record the state when they end [OPS-80]', async () => {
    expect(await seen(null, null)).to.deep.equal(['begin', 'note', 'note'])
  })

  it('start once an operator has confirmed a restore [OPS-80]', async () => {
    expect(await seen('behind', null)).to.include.members(['behind', 'begin', 'note'])
    expect(await seen('behind', 'behind')).to.deep.equal(['behind'])
  })

  it('ends its process if a later check fails [OPS-80] [OPS-86]', async () => {
    expect(await seen(null, 'behind')).to.deep.equal(['begin', 'behind', 'end'])
    expect(await seen('copied', null, { wasCopy: false, isCopy: true }))
      .to.include('end')
      .and.not.to.include('begin')
    expect(await seen(null, null, { wasCopy: true, isCopy: true })).to.include.members(['copy', 'begin'])
  })
})
