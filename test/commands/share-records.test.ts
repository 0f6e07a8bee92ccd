import { expect } from 'chai'
import { MAX_LIVE_LINKS, revokeShare, type ShareInput, shareRecord } from '#commands/share-records.ts'
import { refuse } from '#domain/refusals.ts'
import { event } from '#events/catalogue.ts'
import type { Changes } from '#ledger/working-set.ts'
import { sharedLinks } from '#projections/record-links.ts'
import { companyRegistered, customerCreated, saleCompleted } from '../support/facts.ts'
import { COMPANY_ID, given, minute } from '../support/given.ts'

const secrets = { nonce: Buffer.alloc(32, 1), token_hash: Buffer.alloc(32, 2) }
const receipt: ShareInput = { kind: 'sale', id: 1, ...secrets }
const month: ShareInput = { kind: 'company', id: COMPANY_ID, month: '2026-03', ...secrets }

/** Of the shop. */
const EVENTS = 3

const shop = () => given(companyRegistered(), customerCreated({ id: 4 }), saleCompleted({ id: 1 }))

describe('links of records', () => {
  it('end after a year, those of a month after thirty days of real time [LINK-1280]', async () => {
    for (const [input, days] of [
      [receipt, 365],
      [month, 30],
    ] as const) {
      const { decision } = await (await shop()).when(shareRecord, input)
      const [created] = 'events' in decision ? decision.events : []
      const expires_at = new Date(Date.parse(minute(EVENTS)) + days * 86_400_000).toISOString()
      expect(created?.data).to.include({ id: input.id, kind: input.kind, expires_at })
      expect(JSON.stringify(created)).not.to.match(/token|nonce/)
    }
  })

  it('are replaced by the next one of their record, and revoked for good [LINK-1281]', async () => {
    const scenario = await shop()
    const link = (await scenario.when(shareRecord, receipt)).decision
    const [row] = 'privateRows' in link ? link.privateRows : []
    expect(row).to.deep.include({ table: sharedLinks })
    ;((await scenario.rows()) as Changes).put(sharedLinks, row?.row as never)
    ;(await scenario.when(revokeShare, { kind: 'sale', id: 1 })).accepts(
      'updated',
      event('SharedLinkRevoked', { id: 1, kind: 'sale' }),
    )
  })

  it('of unknown records, other companies and months without a name are refused', async () => {
    for (const input of [
      { ...receipt, id: 2 },
      { ...receipt, kind: 'customer', id: 5 },
      { ...month, id: COMPANY_ID + 1 },
      { ...month, month: undefined },
    ] as const)
      (await (await shop()).when(shareRecord, input)).refuses('not_found')
  })

  it(`are at most ${MAX_LIVE_LINKS} of a company [LINK-1280]`, async () => {
    const scenario = await shop()
    const decided = await scenario.when(shareRecord, receipt, 'panel', 'user/1', null, [{ count: MAX_LIVE_LINKS }])
    expect(decided.decision).to.deep.equal(refuse('link_limit_reached'))
  })
})
