import { type Refusal, refuse, refuseForgotten } from '#domain/refusals.ts'
import { type Permission, UNMASKED } from '#domain/rights.ts'
import { event } from '#events/catalogue.ts'
import { accept, command, type Permit } from '#ledger/command.ts'
import type { Rows } from '#ledger/working-set.ts'
import { customerById } from '#projections/people.ts'
import {
  linkOfRecord,
  type SharedLink,
  type SharedRecord,
  sharedLinks,
  sharedRecordKey,
} from '#projections/record-links.ts'
import { saleById } from '#projections/sales.ts'

/** Live links of a company (LINK-1280). */
export const MAX_LIVE_LINKS = 20_000

/** Days of real time that a link is valid for. */
export const LINK_DAYS: Readonly<Record<SharedRecord['kind'], number>> = { sale: 365, customer: 365, company: 30 }

/** A month shows what cannot be masked. */
const NEEDED: Readonly<Record<SharedRecord['kind'], readonly Permission[]>> = {
  sale: ['sell'],
  customer: ['receive'],
  company: UNMASKED,
}

/** `nonce` and the hash of the token that is made of it. */
export type ShareInput = SharedRecord & { readonly nonce: Buffer; readonly token_hash: Buffer }

/** Gives a record its link; an earlier one stops working. */
export const shareRecord = command<ShareInput>({
  needs: (shared) => [linkOfRecord(shared), ...recordRefs(shared)],
  lookup: () => ({
    name: 'count_live_links',
    text: `select count(*)::int as count from (select from ops.shared_links where company_id = $1 and token_hash is not null
             and expires_at > clock_timestamp() limit ${MAX_LIVE_LINKS}) l`,
    values: [],
  }),
  decide(rows, { nonce, token_hash, ...shared }, { companyId, recordedAt: now, actor, permit, found }) {
    const refusal = refuseRight(permit, shared) ?? refuseRecord(rows, shared, companyId)
    if (refusal) return refusal
    const [{ count } = { count: 0 }] = found as readonly { readonly count: number }[]
    if (count >= MAX_LIVE_LINKS) return refuse('link_limit_reached')
    const expires_at = new Date(Date.parse(now) + LINK_DAYS[shared.kind] * 86_400_000).toISOString()
    const created = event('SharedLinkCreated', { ...toData(shared), expires_at })
    const [, maker] = /^user\/(\d+)$/.exec(actor ?? '') ?? []
    const link: SharedLink = {
      ...{ company_id: companyId, record: sharedRecordKey(shared), token_hash, nonce, expires_at },
      made_by: maker === undefined ? null : Number(maker),
      ...{ opened_at: null, last_opened_at: null, times_opened: 0 },
    }
    return accept('updated', created.subject, [created], [{ table: sharedLinks, row: link }])
  },
})

/** Ends a link for good: from the next request on it opens nothing. */
export const revokeShare = command<SharedRecord>({
  needs: (shared) => [linkOfRecord(shared), ...recordRefs(shared)],
  decide(rows, shared, { companyId, permit }) {
    const link = rows.get(linkOfRecord(shared))
    const refusal = refuseRight(permit, shared) ?? refuseRecord(rows, shared, companyId)
    if (refusal) return refusal
    const revoked = event('SharedLinkRevoked', toData(shared))
    if (!link?.token_hash) return accept('unchanged', revoked.subject)
    return accept('updated', revoked.subject, [revoked], [{ table: sharedLinks, row: { ...link, token_hash: null } }])
  },
})

const recordRefs = ({ kind, id }: SharedRecord) =>
  kind === 'sale' ? [saleById(id)] : kind === 'customer' ? [customerById(id)] : []

const toData = ({ kind, id, month }: SharedRecord) => ({ id, kind, ...(month !== undefined && { month }) })

function refuseRight(permit: Permit, { kind }: SharedRecord): Refusal | null {
  for (const permission of NEEDED[kind]) {
    const granted = permit(permission)
    if ('refused' in granted) return granted
  }
  return null
}

function refuseRecord(rows: Rows, { kind, id, month }: SharedRecord, companyId: number): Refusal | null {
  if (kind === 'company') return id === companyId && month !== undefined ? null : refuse('not_found')
  if (kind === 'sale') return rows.get(saleById(id)) ? null : refuse('not_found')
  const customer = rows.get(customerById(id))
  if (!customer || customer.deleted_at !== null) return refuse('not_found')
  return customer.doc.forgotten_at === null ? null : refuseForgotten(`customer/${id}`)
}
