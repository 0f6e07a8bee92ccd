import type { Book, SandboxPayment } from './book.ts'
import type { Claims } from './notifications.ts'
import { Refusal } from './refusal.ts'

/** Notifications that lie, each signed with the true secret unless the lie is about that. */
export const FORGERIES = [
  'bad_signature',
  'unsigned',
  'other_order',
  'other_amount',
  'other_mode',
  'unknown_payment',
  'other_type',
] as const

type Forgery = (typeof FORGERIES)[number]

/** What is claimed, and of which payment. `url` is the notification address of another order. */
export function forgery(
  { book }: { readonly book: Book },
  subject: SandboxPayment,
  as: Forgery,
  url: string | undefined,
): [SandboxPayment, Claims] {
  switch (as) {
    case 'bad_signature':
      return [subject, { secret: 'not the secret' }]
    case 'unsigned':
      return [subject, { secret: null }]
    case 'other_order':
      if (!url) throw new Refusal(422, 'url: the notification address of the other order')
      return [subject, { url }]
    case 'other_amount':
      return [anotherAmount(book, subject), {}]
    case 'other_mode':
      return [subject, { liveMode: !subject.live_mode }]
    case 'unknown_payment':
      return [subject, { dataId: '1' }]
    case 'other_type':
      return [subject, { type: 'plan', action: 'plan.updated' }]
  }
}

/** A payment of the same order that was really made and approved, for a cent. */
function anotherAmount(book: Book, subject: SandboxPayment): SandboxPayment {
  const { payment_method_id, payer, external_reference, notification_url } = subject
  const account = book.accountOf(String(subject.id)) ?? ''
  return book.charge(account, {
    payment_method_id,
    payer,
    external_reference: external_reference ?? undefined,
    notification_url: notification_url ?? undefined,
    transaction_amount: subject.transaction_amount === 0.01 ? 0.02 : 0.01,
    token: 'APRO',
  })
}
