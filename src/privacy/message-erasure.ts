import { containsNeedle, eraseTexts, type TextErasure } from '#ledger/text-erasure.ts'
import type { Transaction } from '#postgres/transaction.ts'

/**
 * Erases persons from a company's stored messages: pending and later deliveries send null. Recorded answers to such
 * messages are dropped whole, because a receiver's text may repeat anything (PRIV-33). Scans all messages of 30 days
 * except those about the catalog.
 */
export async function eraseMessages(tx: Transaction, companyId: number, redaction: TextErasure): Promise<void> {
  await tx.query(COUNT_ERASURE, [companyId])
  const texts = { find: FIND_MESSAGES, write: WRITE_MESSAGES, first: '00000000-0000-0000-0000-000000000000' }
  const ids = await eraseTexts(tx, companyId, texts, redaction)
  if (ids.length > 0) await tx.query(FORGET_RESPONSES, [companyId, ids])
}

/** A replay reads its next messages outside of the ledger's lock: it reads them again after an erasure. */
const COUNT_ERASURE = {
  name: 'count_erasure_in_replays',
  text: `update webhook_replays set erasures = erasures + 1 where company_id = $1 and status = 'running'`,
}

const FIND_MESSAGES = {
  name: 'find_messages_about',
  text: `select id as key, body as text from webhook_messages
         where company_id = $1 and id > $3::uuid and event not like 'cat%' and ${containsNeedle('body')} order by id limit $4`,
}

const WRITE_MESSAGES = {
  name: 'write_messages',
  text: `update webhook_messages m set body = new.text
         from unnest($2::uuid[], $3::text[]) as new(id, text) where m.company_id = $1 and m.id = new.id`,
}

/** Edits the JSON text, like delivery-results.ts; quotes inside a response are escaped. */
const FORGET_RESPONSES = {
  name: 'forget_responses',
  text: String.raw`update webhook_deliveries
         set attempts = regexp_replace(attempts::text, '"response":"([^"\\]|\\.)*"', '"response":null', 'g')::json
         where company_id = $1 and message_id = any($2::uuid[]) and attempts::text like '%"response":"%'`,
}
