import { z } from 'zod'
import { Percentage } from '#domain/percentage.ts'
import { expects } from '#domain/portuguese.ts'
import { STORE_SECRETS } from '#events/stores.ts'

const ALIAS = 'deve ter de 2 a 60 letras minúsculas sem acento, algarismos e hifens entre eles, como "minha-loja"'

/** The store in an address: lower-case words with hyphens between them. */
export const Alias = z
  .string(expects(ALIAS))
  .min(2, ALIAS)
  .max(60, ALIAS)
  .regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, ALIAS)

const SECRET = 'deve ter de 1 a 500 caracteres ASCII visíveis, sem espaços'

/** As the provider gives it, who alone decides how long it is; anything else would only have been pasted wrong. */
const Secret = z.string(expects(SECRET)).regex(/^[\x21-\x7e]{1,500}$/, SECRET)

/** The service's share of what a store is paid. */
export const Commission = Percentage

/** Both may come later: without a token the store cannot be paid, without a secret its notifications are not signed. */
export const secretsShape = { access_token: Secret.optional(), notification_secret: Secret.optional() }

type Secrets = Readonly<Partial<Record<(typeof STORE_SECRETS)[number], string | null | undefined>>>

/** Which of the secrets are given; all that an event may know of them. */
export const namesOf = (secrets: Secrets) => STORE_SECRETS.filter((name) => secrets[name] !== undefined)
