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
 * Takes forgotten persons out of a company's rows of `ops`, in the transaction that applies the event, after its own rows were
 * written (PRIV-30). `emails` are those that forgotten users had; without them no login is looked for. Doing it again changes nothing.
 *
 * | Table | What is kept of persons | What is done |
 * |---|---|---|
 * | idempotent_answers | records | fields null; looks at the company's answers of 24 hours |
 * | webhook_messages, webhook_deliveries | records; what endpoints answered | fields null; answers null; looks at the company's messages of 30 days |
 * | payment_notifications | what the provider sent | but for the payment's id and a few words, deleted; by order |
 * | refused_sales | what a till sent, a note | what the service reads is left; looks at the company's sales of 90 days |
 * | imports | files that are about to be imported | deleted, all of the company; they live an hour |
 * | sessions, sync_tokens, invitations | whom a login is for | ended; by user |
 * | persons, password_links, login_origins, login_failures | e-mail address, or its hash | deleted with the last user of the address; by address |
 * | directory_entries | e-mail address, or its hash | deleted after the commit, where there are several homes (HOME-27) |
 *
 * No other table says anything of a person: ledgers, read_model, checkpoints, table_checks and quotas hold positions and
 * numbers; calls what is no person's (src/http/request-log/masking.ts), webhook_hours and call_counts numbers; api_key_secrets, webhook_secrets, store_secrets and installation_secrets what is secret; notices and webhook_* else
 * addresses of endpoints; stranger_notifications what strangers sent about nobody's order, for 30 days.
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
