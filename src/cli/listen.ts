import { randomBytes, randomUUID } from 'node:crypto'
import * as z from 'zod'
import { type ListenerAttempt, type ListenerRun, runListener } from '#cli/integrator/listener.ts'
import { createServiceClient, type ServiceClient } from '#cli/integrator/service-client.ts'
import { webAddressSetting } from '#config/values.ts'
import { SECRET_BYTES, webhookSecretOf } from '#domain/webhook-secret.ts'
import { WEBHOOK_EVENT_GROUPS, WEBHOOK_EVENTS } from '#events/webhooks.ts'
import { createSender } from '#webhooks/sender.ts'
import { type Verbs, validateInput } from './verb.ts'

/** The timeout of real deliveries (HOOK-17). */
const TIMEOUT_MS = 10_000

const Plan = z.strictObject({
  'forward-to': webAddressSetting,
  url: webAddressSetting,
  secret: z
    .string()
    .regex(/^whsec_[A-Za-z0-9+/]{32,}={0,2}$/, 'deve ser "whsec_" e ao menos 24 bytes em base64')
    .optional(),
  events: z
    .string()
    .transform((names) => names.split(','))
    .pipe(z.array(z.enum([...WEBHOOK_EVENTS, ...WEBHOOK_EVENT_GROUPS])))
    .optional(),
  'replay-from': z.union([z.string().regex(/^\d{1,15}$/), z.iso.date(), z.iso.datetime({ offset: true })]).optional(),
})

/** Delivers webhooks to a local address. Uses only HTTP, so it may run on any machine. */
export const verbs: Verbs<'listen'> = {
  listen: {
    async run({ config, json }, { key, url = config.PUBLIC_URL, 'forward-to': target, 'replay-from': from, ...given }) {
      const plan = validateInput(Plan, { url, ...given, 'forward-to': target, 'replay-from': from })
      const service = createServiceClient(plan.url, key, randomUUID)
      const { company, after, since } = await resolveStart(service, plan['replay-from'])
      const secret = plan.secret ?? webhookSecretOf(randomBytes(SECRET_BYTES))
      const forwardTo = plan['forward-to']
      const say = (line: object, text: string) => process.stdout.write(`${json ? JSON.stringify(line) : text}\n`)
      const shown = plan.secret === undefined ? secret : null
      say(
        { listening: { company, url: plan.url, forward_to: forwardTo, after, since, secret: shown } },
        `Listening to ${company.name} (${plan.url}) for ${forwardTo}, ${since === null ? `after revision ${after}` : `from ${since} on`}${shown === null ? '' : `\nSigning secret: ${shown}`}`,
      )
      const stop = new AbortController()
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
      const sender = createSender({ timeout_ms: TIMEOUT_MS, allowPrivate: true, clock: Date.now })
      const listening: ListenerRun = {
        service,
        from: since === null ? { after: after ?? -1 } : { since },
        forwardTo,
        secret,
        events: plan.events ?? null,
        sender,
        signal: stop.signal,
        onAway: (reason) => say({ away: reason }, `The service is away (${reason}): asking again`),
        onTried: (tried) => say(tried, textOf(tried)),
      }
      try {
        await runListener(listening)
      } finally {
        await sender.close()
      }
      return undefined
    },
  },
}

interface StreamStart {
  readonly company: { readonly id: number; readonly name: string }
  readonly after: number | null
  readonly since: string | null
}

/** Start of the stream: now, a revision, a day of the company, or an instant. @throws Ended */
async function resolveStart(service: ServiceClient, from: string | undefined): Promise<StreamStart> {
  const { data, revision } = await service.call('GET', '/me')
  const { id, name } = data.company
  const company = { id, name }
  if (from === undefined) return { company, after: revision, since: null }
  if (/^\d+$/.test(from)) return { company, after: Number(from) - 1, since: null }
  const offset = /[+-]\d\d:\d\d$/.exec(data.server_time)?.[0] ?? 'Z'
  return { company, after: null, since: from.includes('T') ? from : `${from}T00:00:00${offset}` }
}

function textOf({ event, revision, status, duration_ms, error, again_in_ms }: ListenerAttempt): string {
  const attempt = `${event} #${revision} -> ${status ?? error} (${duration_ms} ms)`
  if (error === null) return attempt
  return again_in_ms === null ? `${attempt}, given up` : `${attempt}, again in ${again_in_ms / 1000} s`
}
