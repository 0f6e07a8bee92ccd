import { z } from 'zod'
import { isTimeZone } from '#domain/instant.ts'
import { Cnpj } from '#domain/tax-number.ts'
import { text } from '#domain/text.ts'
import { PLANS } from '#events/companies.ts'

const LOGO_URL = 'deve ser uma URL http ou https'
const TIME_ZONE = 'deve ser um fuso horário, como "America/Sao_Paulo"'

/** Fields of a company that are set by whoever runs the service. */
export const companyShape = {
  name: text(120),
  cnpj: Cnpj,
  plan: z.enum(PLANS),
  timezone: z.string().refine(isTimeZone, TIME_ZONE),
  logo_url: text(500)
    .refine((url) => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol), LOGO_URL)
    .nullable(),
}
