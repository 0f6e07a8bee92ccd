import { z } from 'zod'
import { optionalText } from '#domain/text.ts'
import { WEBHOOK_EVENTS } from '#events/webhooks.ts'

const ALL = '*'

/** Names of outbound events, each once and in the catalogue's order; `["*"]` is all there are and will be. */
const EventNames = z
  .array(z.enum([...WEBHOOK_EVENTS, ALL]))
  .min(1, 'informe ao menos um evento, ou ["*"]')
  .max(50, 'no máximo 50 nomes de eventos')
  .refine(
    (names) => !names.includes(ALL) || names.every((name) => name === ALL),
    '"*" não se combina com outros eventos',
  )
  .transform((names): string[] =>
    names.includes(ALL) ? [ALL] : WEBHOOK_EVENTS.filter((event) => names.includes(event)),
  )

/** What a caller says of an address. Whether its URL may be called depends on the service's settings: src/webhooks/target.ts. */
export const WebhookFields = z.strictObject({
  url: z.string(),
  events: EventNames,
  description: optionalText(200),
})

/** PATCH: what is absent stays. */
export const WebhookChanges = WebhookFields.partial()

/** Hours during which the secret before a rotation still signs (DESIGN section 5, Webhooks). */
export const RotationFields = z.strictObject({
  overlap_hours: z
    .int({ error: 'deve ser um número inteiro de 0 a 168' })
    .min(0, 'deve ser um número inteiro de 0 a 168')
    .max(168, 'deve ser um número inteiro de 0 a 168')
    .default(24),
})
