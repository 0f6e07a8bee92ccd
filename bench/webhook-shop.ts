import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { registerWebhook, switchOffWebhook } from '#commands/webhooks.ts'
import { webhookSecretOf } from '#domain/webhook-secret.ts'
import { invoke } from '#ledger/command.ts'
import { administer } from './database.ts'
import { createShops, run, type Shop, withCore } from './shop.ts'

/** Shop with endpoints for every sale. */
export interface WebhookShop extends Shop {
  readonly webhookIds: readonly number[]
}

/** Creates shops and registers the URLs of each. */
export async function createWebhookShops(
  databaseUrl: string,
  urls: readonly (readonly string[])[],
): Promise<WebhookShop[]> {
  const shops = await createShops(databaseUrl, urls.length)
  return withCore(databaseUrl, async (core) => {
    const created: WebhookShop[] = []
    for (const [index, shop] of shops.entries()) {
      const inputs = (urls[index] ?? []).map((url) => ({
        url,
        events: ['sale.completed' as const],
        secret: webhookSecretOf(randomBytes(32)),
      }))
      const webhookIds = await run(
        core,
        shop.companyId,
        inputs.map((input) => invoke(registerWebhook, input)),
      )
      created.push({ ...shop, webhookIds })
    }
    return created
  })
}

/** Disables the endpoints, so that pending deliveries do not burden the next benchmark. */
export async function closeWebhookShops(databaseUrl: string, shops: readonly WebhookShop[]): Promise<void> {
  await withCore(databaseUrl, async (core) => {
    for (const { companyId, webhookIds } of shops) {
      const inputs = webhookIds.map((id) => ({ id, reason: 'requested' as const }))
      await run(
        core,
        companyId,
        inputs.map((input) => invoke(switchOffWebhook, input)),
      )
    }
  })
}

/** Last used revision; far above those of the ledger's own events. */
let queued = 1_000_000_000

/**
 * Queues `count` deliveries for each endpoint, as events would. They are invisible before `work` announces them, which
 * returns the time of that, in milliseconds since 1970.
 */
export async function queueDeliveries<T>(
  databaseUrl: string,
  shop: WebhookShop,
  { body, count }: { readonly body: string; readonly count: number },
  work: (announce: () => Promise<number>) => Promise<T>,
): Promise<T> {
  return administer(databaseUrl, async (client) => {
    await client.query('begin')
    await client.query(
      `with message as (
         insert into ops.webhook_messages (company_id, id, revision, event, body, created_at)
         select $1, gen_random_uuid(), revision, 'sale.completed', $3, now() from generate_series($4::bigint, $5::bigint) as revision
         returning id, revision)
       insert into ops.webhook_deliveries (company_id, id, webhook_id, message_id, event, revision, sequence, replay, status,
         attempts, tries, next_attempt_at, created_at)
       select $1, gen_random_uuid(), address, message.id, 'sale.completed', revision, revision, false, 'pending', '[]', 0, now(), now()
       from message, unnest($2::bigint[]) as address`,
      [shop.companyId, shop.webhookIds, body, queued + 1, queued + count],
    )
    queued += count
    return work(async () => {
      await client.query('commit')
      const at = performance.timeOrigin + performance.now()
      await client.query(`select pg_notify('webhook_deliveries', '')`)
      return at
    })
  })
}

/** Waits until no delivery of a shop is under way: results are recorded after arrivals. */
export async function untilRecorded(databaseUrl: string, { companyId }: Shop): Promise<void> {
  await administer(databaseUrl, async (client) => {
    const isPending = async () =>
      (
        await client.query(`select from ops.webhook_deliveries where company_id = $1 and status = 'pending' limit 1`, [
          companyId,
        ])
      ).rowCount !== 0
    while (await isPending()) await pause(POLL_MS)
  })
}

const POLL_MS = 10
