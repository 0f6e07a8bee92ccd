import { expect } from 'chai'
import type { Pool } from 'pg'
import { recordDownload } from '#integrity/downloads.ts'
import { until } from '../../support/wait.ts'

describe('record of a download', () => {
  it('the outcome of a download is not replaced by older progress [AUDIT-26]', async () => {
    const ended: string[] = []
    let endNote: (() => void) | undefined
    const pool = {
      async query(text: string) {
        const isNote = text.includes('seen_at')
        if (isNote)
          await new Promise<void>((resolve) => {
            endNote = resolve
          })
        ended.push(isNote ? 'progress' : text.startsWith('insert') ? 'begin' : 'outcome')
        return { rows: [{ id: 1 }] }
      },
    } as unknown as Pool
    let finish = (_isWhole: boolean) => {}
    const recorded = recordDownload(
      pool,
      { companyId: 1, user_id: 1, kind: 'audit_pack', subject: null },
      () =>
        new Promise((resolve) => {
          finish = resolve
        }),
    )
    await until(() => endNote !== undefined)
    finish(true)
    await new Promise(setImmediate)
    expect(ended).to.deep.equal(['begin'])
    endNote?.()
    await recorded
    expect(ended).to.deep.equal(['begin', 'progress', 'outcome'])
  })
})
