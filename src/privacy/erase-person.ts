import { eraseImports } from '#imports/stored-file.ts'
import { parseSubject } from '#ledger/projection.ts'
import { eraseAnswers } from '#ledger/write/idempotency.ts'
import type { Transaction } from '#postgres/transaction.ts'
import { eraseLogins } from '#privacy/login-erasure.ts'
import { eraseMessages } from '#privacy/message-erasure.ts'
import { eraseNotifications } from '#privacy/notification-erasure.ts'
import { eraseRefusedSales } from '#privacy/refused-sale-erasure.ts'
import { type ErasedPerson, textErasureOf } from './record-erasure.ts'

/**
 * Erases persons from a company's rows of `ops`, in the transaction that applies the event and after its own writes
 * (PRIV-30). `emails` are the addresses of erased users; without them no login is searched. Repeatable.
 *
 * | Table | Personal data | Erasure |
 * |---|---|---|
 * | idempotent_answers | records | fields null; scans the company's responses of 24 hours |
 * | webhook_messages, webhook_deliveries | records; responses | fields null; responses null; scans the messages of 30 days |
 * | payment_notifications | the provider's payload | deleted except the payment's id and a few fields; by order |
 * | refused_sales | payload, note | reduced to the fields that the service reads; scans the sales of 90 days |
 * | imports | uploaded files before their import | deleted for the whole company; kept one hour |
 * | sessions, sync_tokens, invitations | user of the login | ended; by user |
 * | persons, password_links, second_factors, recovery_codes, second_steps | e-mail address | deleted with its last user |
 * | login_origins, login_failures | hash of the e-mail address | deleted with its last user |
 *
 * The other tables have no personal data: ledgers, read_model, checkpoints, table_checks and quotas hold positions and
 * numbers; calls is masked (src/http/request-log/masking.ts); webhook_hours and call_counts hold numbers;
 * api_key_secrets, webhook_secrets, store_secrets and installation_secrets hold secrets; notices and the other
 * webhook_* tables hold endpoint addresses. stranger_notifications holds unauthenticated payloads that match no order,
 * for 30 days.
 */
export async function erasePerson(
  tx: Transaction,
  companyId: number,
  forgotten: ErasedPerson,
  emails: readonly string[] = [],
): Promise<void> {
  const redaction = textErasureOf(forgotten)
  await eraseAnswers(tx, companyId, redaction)
  await eraseMessages(tx, companyId, redaction)
  await eraseNotifications(tx, companyId, idsOf(forgotten, 'order'))
  await eraseImports(tx, companyId)
  await eraseRefusedSales(tx, companyId, idsOf(forgotten, 'customer'))
  if (forgotten.parts.includes('identity')) await eraseLogins(tx, companyId, idsOf(forgotten, 'user'), emails)
}

export const idsOf = ({ subjects }: Pick<ErasedPerson, 'subjects'>, kind: string): number[] =>
  subjects.map(parseSubject).flatMap(({ type, id }) => (type === kind ? id : []))
