import { z } from 'zod'
import type { TimelineFilters } from '#audit/timeline.ts'
import { ID_KINDS } from '#domain/id-kinds.ts'
import { addDays, CalendarDate, startOfDay } from '#domain/instant.ts'
import { EVENT_TYPES, type EventName } from '#events/catalogue.ts'
import type { Fields } from '../forms/form.ts'
import { choice, date, integer, namedOptions } from '../forms/kinds.ts'
import { EVENTS, ORIGINS } from '../words/events.ts'
import { KINDS } from '../words/subjects.ts'

/** Filters of the time line. */
export const timelineFields: Fields = {
  evento: { label: 'Acontecimento', kind: choice(namedOptions(EVENTS)), columns: 4 },
  tipo: { label: 'Registro', kind: choice(namedOptions(KINDS)), columns: 3 },
  numero: { label: 'Número do registro', kind: integer, columns: 3 },
  origem: { label: 'Por onde', kind: choice(namedOptions(ORIGINS)), columns: 2 },
  de: { label: 'De', kind: date, columns: 3 },
  ate: { label: 'Até', kind: date, columns: 3 },
}

const RecordNumber = z.string().regex(/^[1-9]\d{0,14}$/, 'deve ser um número inteiro positivo')

/** As the address has them. */
export const TimelineQuery = z
  .object({
    evento: z.enum(Object.keys(EVENTS)).optional(),
    tipo: z.enum(ID_KINDS).optional(),
    numero: RecordNumber.optional(),
    origem: z.enum(Object.keys(ORIGINS)).optional(),
    de: CalendarDate.optional(),
    ate: CalendarDate.optional(),
    antes: z
      .string()
      .regex(/^\d{1,15}$/)
      .optional(),
  })
  .refine(({ tipo, numero }) => numero === undefined || tipo !== undefined, {
    path: ['tipo'],
    message: 'escolha de que registro é o número',
  })

/** What they mean; days are the company's own. */
export function timelineFiltersOf(
  { evento, tipo, numero, origem, de, ate }: z.infer<typeof TimelineQuery>,
  timezone: string,
): TimelineFilters {
  const isOfRecord = numero !== undefined
  return {
    types: evento ? [evento] : tipo && !isOfRecord ? typesAbout(tipo) : null,
    subject: isOfRecord ? `${tipo}/${numero}` : null,
    origin: origem ?? null,
    actor: null,
    since: de === undefined ? null : startOfDay(de, timezone),
    until: ate === undefined ? null : startOfDay(addDays(ate, 1), timezone),
  }
}

const typesAbout = (kind: string): EventName[] =>
  (Object.keys(EVENT_TYPES) as EventName[]).filter((name) => EVENT_TYPES[name].subject === kind)
