import type { DataOf } from '#events/catalogue.ts'
import { parseSubject } from '#ledger/projection.ts'
import type { Reactor } from '#ledger/reactor.ts'
import { table } from '#ledger/table.ts'
import { companyRef } from '#projections/companies.ts'
import { webhookById } from '#projections/webhooks.ts'

/** A notification to the users of a company, in the panel and by e-mail. */
interface Notice {
  company_id: number
  /** Id of the causing event. */
  id: string
  kind: 'webhook_switched_off'
  data: { webhook_id: number; url: string; reason: DataOf<'WebhookSwitchedOff'>['reason'] }
  created_at: string
  emailed_at: null
  email_tries: number
  next_email_at: string
}

const notices = table<Notice>('notices', {
  columns: {
    company_id: 'bigint',
    id: 'uuid',
    kind: 'text',
    data: 'json',
    created_at: 'timestamptz',
    emailed_at: 'timestamptz',
    email_tries: 'integer',
    next_email_at: 'timestamptz',
  },
  keys: { pk: ['company_id', 'id'] },
})

const reasonOf = (event: { readonly data: object }) => (event.data as DataOf<'WebhookSwitchedOff'>).reason

/** Notifies a company of endpoints that were switched off automatically (HOOK-20). */
export const switchOffNotifications: Reactor = {
  refs(_rows, event) {
    if (event.type !== 'WebhookSwitchedOff' || reasonOf(event) === 'requested') return null
    return [webhookById(parseSubject(event.subject).id)]
  },
  react(rows, event, _record, { now }) {
    const webhook_id = parseSubject(event.subject).id
    rows.add(notices, {
      company_id: companyRef(rows).company_id,
      id: event.id,
      kind: 'webhook_switched_off',
      data: { webhook_id, url: rows.get(webhookById(webhook_id))?.url ?? '', reason: reasonOf(event) },
      created_at: now,
      emailed_at: null,
      email_tries: 0,
      next_email_at: now,
    })
  },
}
