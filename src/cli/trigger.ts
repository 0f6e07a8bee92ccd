import { randomBytes, randomUUID } from 'node:crypto'
import * as z from 'zod'
import { createServiceClient } from '#cli/integrator/service-client.ts'
import { TRIGGERED_EVENTS, trigger } from '#cli/integrator/triggers.ts'
import { webAddressSetting } from '#config/values.ts'
import { type Verbs, validateInput } from './verb.ts'

const Plan = z.strictObject({ event: z.enum(TRIGGERED_EVENTS), url: webAddressSetting })

/** Triggers a real event in a test company. Uses only HTTP, so it may run on any machine. */
export const verbs: Verbs<'trigger'> = {
  trigger: {
    async run({ config }, { event: name, key, url: base = config.PUBLIC_URL, store }) {
      const { event, url } = validateInput(Plan, { event: name, url: base })
      const tag = randomBytes(3).toString('hex')
      return trigger(event, { service: createServiceClient(url, key, randomUUID), tag, store })
    },
  },
}
