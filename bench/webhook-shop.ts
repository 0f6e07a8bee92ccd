import { randomBytes } from 'node:crypto'
import { registerWebhook, switchOffWebhook } from '#commands/webhooks.ts'
import { secretOf } from '#domain/webhook-secret.ts'
import { isRefusal } from '#ledger/command.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import { type Core, openCore } from '#service/core.ts'
import { masterKeys } from '../test/support/master-key.ts'
import { administer } from './database.ts'
import { createShops, type Shop } from './shop.ts'

/** A shop with addresses that every sale is told to. */
export interface WebhookShop extends Shop {
  readonly webhookIds: readonly number[]
}

/** Creates a shop and registers the URLs. */
export async function createWebhookShop(databaseUrl: string, urls: readonly string[]): Promise<WebhookShop> {
  const [shop] = (await createShops(databaseUrl, 1)) as [Shop]
  return withCore(databaseUrl, async (core) => {
    const webhookIds: number[] = []
    for (const url of urls) {
      const input = { url, events: ['*' as const], secret: secretOf(randomBytes(32)) }
      const answer = await runAsSystem<{ id: number }>(core.writer, shop.companyId, registerWebhook, input)
      if (isRefusal(answer)) throw new Error(`refused: ${JSON.stringify(answer)}`)
      webhookIds.push(answer.id)
    }
    return { ...shop, webhookIds }
  })
}

/** Switches the addresses off, so that what waits for them does not burden the next benchmark. */
export async function closeWebhookShop(databaseUrl: string, { companyId, webhookIds }: WebhookShop): Promise<void> {
  await withCore(databaseUrl, async (core) => {
    for (const id of webhookIds)
      await runAsSystem(core.writer, companyId, switchOffWebhook, { id, reason: 'requested' })
  })
}

/** Queues `count` deliveries for each address as events would have left them, and returns when they were announced. */
export async function queueDeliveries(
  databaseUrl: string,
  shop: WebhookShop,
  body: string,
  count: number,
): Promise<number> {
  return administer(databaseUrl, async (client) => {
    // Far above those of the ledger's own events.
    await client.query('create sequence if not exists bench_revisions start 1000000000')
    await client.query(
      `with message as (
         insert into ops.webhook_messages (company_id, id, revision, event, body, created_at)
         select $1, gen_random_uuid(), nextval('bench_revisions'), 'sale.completed', $3, now() from generate_series(1, $4)
         returning id, revision)
       insert into ops.webhook_deliveries (company_id, id, webhook_id, message_id, event, revision, sequence, replay, status,
         attempts, tries, next_attempt_at, created_at)
       select $1, gen_random_uuid(), address, message.id, 'sale.completed', revision, revision, false, 'pending', '[]', 0, now(), now()
       from message, unnest($2::bigint[]) as address`,
      [shop.companyId, shop.webhookIds, body, count],
    )
    const at = performance.timeOrigin + performance.now()
    await client.query(`select pg_notify('webhook_deliveries', '')`)
    return at
  })
}

async function withCore<T>(databaseUrl: string, work: (core: Core) => Promise<T>): Promise<T> {
  const core = await openCore({
    masterKeys,
    databaseUrl,
    queryConnections: 2,
    log: (message, error) => console.error(message, error),
    onOutdated: () => {},
  })
  try {
    return await work(core)
  } finally {
    await core.close()
  }
}
