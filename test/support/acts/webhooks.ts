import fc from 'fast-check'
import * as z from 'zod'
import {
  deleteWebhook,
  enableWebhook,
  RotationFields,
  registerWebhook,
  rotateSecret,
  switchOffWebhook,
  updateWebhook,
  WebhookChanges,
  WebhookFields,
} from '#commands/webhook-commands.ts'
import { Id } from '#domain/text.ts'
import { SWITCH_OFF_REASONS, WEBHOOK_EVENTS } from '#events/catalogue.ts'
import { type Act, ById, byId, maybe, nullable, place } from './act.ts'

/** A secret that no event may contain. */
export const SIGNING_SECRET = 'whsec_U0VDUkVUU0VDUkVUU0VDUkVUU0VDUkVU'

const secret = z.string()
const url = fc.nat({ max: 9 }).map((n) => `https://erp-${n}.example/eventos`)
const events = fc.oneof(
  fc.constantFrom(['*'], ['basic']),
  fc.uniqueArray(fc.constantFrom(...WEBHOOK_EVENTS), { minLength: 1 }),
)
const description = nullable(fc.constant('ERP'))

export const webhookActs = {
  registerWebhook: {
    kind: 'webhook',
    weight: 2,
    command: registerWebhook,
    schema: WebhookFields.extend({ secret }),
    input: fc.record({ url, events, description, secret: fc.constant(SIGNING_SECRET) }),
  },
  updateWebhook: {
    kind: 'webhook',
    weight: 1,
    command: updateWebhook,
    schema: WebhookChanges.extend({ id: Id }),
    input: fc.record({ id: place, url: maybe(url), events: maybe(events), description }),
  },
  enableWebhook: { kind: 'webhook', weight: 1, command: enableWebhook, schema: ById, input: byId },
  switchOffWebhook: {
    kind: 'webhook',
    weight: 1,
    command: switchOffWebhook,
    schema: z.strictObject({ id: Id, reason: z.enum(SWITCH_OFF_REASONS) }),
    input: fc.record({ id: place, reason: fc.constantFrom(...SWITCH_OFF_REASONS) }),
  },
  rotateSecret: {
    kind: 'webhook',
    weight: 1,
    command: rotateSecret,
    schema: RotationFields.extend({ id: Id, secret }),
    input: fc.record({ id: place, overlap_hours: fc.constantFrom(0, 24), secret: fc.constant(SIGNING_SECRET) }),
  },
  deleteWebhook: { kind: 'webhook', weight: 1, command: deleteWebhook, schema: ById, input: byId },
} satisfies Record<string, Act>
