import { v7 as uuidv7 } from 'uuid'
import { switchOffWebhook } from '#commands/webhook-commands.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import { startWebhooks, type WebhookOptions } from '#webhooks/webhook-loops.ts'
import { startApi, type TestApi, type TestApiOptions, type TestCompany } from '../support/api.ts'
import { type Receiver, startReceiver } from './receiver.ts'

/** Endpoint registered through API v1, with its secret. */
export interface Registered {
  readonly id: number
  readonly secret: string
  readonly path: string
}

/** Service that delivers, with its own company and receiver. */
export interface DeliveringService {
  readonly api: TestApi
  readonly company: TestCompany
  readonly receiver: Receiver
  readonly errors: unknown[]
  register(events?: readonly string[], url?: string): Promise<Registered>
  close(): Promise<void>
}

/** Starts API and delivery in this process, composed like `src/start.ts`. */
export async function startDelivering(
  databaseUrl: string,
  options: Partial<WebhookOptions> = {},
  apiOptions: TestApiOptions = {},
): Promise<DeliveringService> {
  const api = await startApi(databaseUrl, apiOptions)
  const company = await api.company()
  const receiver = await startReceiver()
  const errors: unknown[] = []
  const webhooks = startWebhooks({
    databaseUrl,
    core: api.core,
    vault: api.core.vault,
    switchOff: (companyId, id, reason) => runAsSystem(api.core.writer, companyId, switchOffWebhook, { id, reason }),
    retrySeconds: [60, 300],
    switchOffHours: 24,
    allowPrivate: true,
    clock: Date.now,
    random: () => 0,
    newId: uuidv7,
    log: (_message, error) => errors.push(error),
    ...options,
  })
  return {
    api,
    company,
    receiver,
    errors,
    async register(events = ['basic'], url = receiver.url) {
      const { id, secret } = (await company.post('/webhooks', { url, events })).body.data
      return { id, secret, path: `/webhooks/${id}` }
    },
    async close() {
      await webhooks.stop()
      await receiver.close()
      await api.close()
    },
  }
}
