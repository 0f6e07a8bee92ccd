import type { Pool } from 'pg'
import * as z from 'zod'
import { type EmailMessage, morningEmail, toShopBrand } from '#access/email.ts'
import type { MorningSubscriber } from '#access/morning-mails.ts'
import { addDays, type Calendar, daysFrom, startOfDay } from '#domain/instant.ts'
import { toBigCents } from '#domain/money.ts'
import { formatCents, MASKED } from '#domain/person-values.ts'
import { may, type RolePermissions } from '#domain/rights.ts'
import { refreshSalesRollups } from '#projections/sales-rollups.ts'
import { findCashDifferences, listOpenDrawers } from '#queries/cash-queries.ts'
import { acquirerCalendar } from '#queries/finance-summary.ts'
import { presentSource, Reader } from '#queries/reader.ts'
import { sumTakings } from '#queries/sales-sums.ts'
import { listEndingToday } from '#queries/stock-queries.ts'
import { choiceInput, type Option } from '../forms/input-kinds.ts'
import type { Fields } from '../forms/panel-form.ts'
import { link, toSight } from '../page-context.ts'
import { formPages } from '../ui/form-pages.tsx'
import { Card, Figure } from '../ui/page-parts.tsx'
import { ACQUIRERS_PATH, addPayments } from './acquirer-pages.tsx'
import { drawerPath } from './drawer-pages.tsx'
import { WEEKDAYS } from './start-period.ts'

/** A sentence of the morning, with the page that shows the same. */
export interface MorningSentence {
  /** Below the panel. */
  readonly to: string
  readonly parameters?: Readonly<Record<string, string>>
  readonly text: string
  /** Its amount as the text has it, a figure (docs/requirements/figures.md). */
  readonly figure?: { readonly name: string; readonly of: string; readonly shown: string }
}

/** For whom it is said: `reader` shows what the user may see. */
export interface MorningReader {
  readonly reader: Reader
  readonly permissions: RolePermissions
  readonly userId: number
  readonly calendar: Calendar
}

/** Sentences of a kind; a morning with more has lost its sense. */
const MOST_OF_A_KIND = 3

/** Portuguese counts amounts from two on as many. */
const agree = (cents: bigint, one: string, many: string): string => (cents < 200n ? one : many)

const absolute = (cents: bigint): bigint => (cents < 0n ? -cents : cents)

/**
 * Whether the last day took more than each earlier one of its weekday in its month, of which at least one had sales.
 * `taken`: cents by day from the first of the month.
 */
export const isBestWeekday = (taken: readonly bigint[]): boolean => {
  const earlier = taken.slice(0, -1).filter((_, day) => (taken.length - 1 - day) % 7 === 0)
  const last = taken.at(-1) ?? 0n
  return earlier.some((cents) => cents > 0n) && earlier.every((cents) => cents < last)
}

async function sayTakings({ reader, calendar: { today, timezone } }: MorningReader): Promise<MorningSentence[]> {
  const yesterday = addDays(today, -1)
  const days = daysFrom(`${yesterday.slice(0, 8)}01`, Number(yesterday.slice(8)))
  const taken = await sumTakings(
    reader,
    [...days, today].map((day) => startOfDay(day, timezone)),
  )
  const cents = taken?.at(-1) ?? 0n
  if (taken === null || cents <= 0n) return []
  const weekday = WEEKDAYS[new Date(`${yesterday}T00:00:00Z`).getUTCDay()]
  const shown = formatCents(cents)
  return [
    {
      to: '/vendas',
      parameters: { sold_from: yesterday, sold_to: yesterday, status: 'completed' },
      text: `Ontem ${shown}${isBestWeekday(taken) ? `, melhor ${weekday} do mês` : ''}.`,
      figure: { name: 'faturado', of: 'ontem', shown },
    },
  ]
}

const drawerOf = (owner: string | null): string => (owner === null || owner === MASKED ? '' : ` de ${owner}`)

/** Of drawers opened before today and closed since yesterday, as long as they are not explained. */
async function sayDifferences({ reader, calendar: { today, timezone } }: MorningReader): Promise<MorningSentence[]> {
  const found = await findCashDifferences(reader, startOfDay(addDays(today, -1), timezone), timezone)
  const begin = Date.parse(startOfDay(today, timezone))
  return found.flatMap(({ id, owner, opened_at, in_drawer }) => {
    const cents = toBigCents(in_drawer ?? '0.00')
    if (cents === 0n || Date.parse(opened_at) >= begin) return []
    const size = absolute(cents)
    const shown = formatCents(size)
    const verb = cents < 0n ? agree(size, 'Faltou', 'Faltaram') : agree(size, 'Sobrou', 'Sobraram')
    const figure = { name: 'quebra', of: `gaveta/${id}`, shown }
    return { to: drawerPath(id), text: `${verb} ${shown} na gaveta${drawerOf(owner)}.`, figure }
  })
}

/** Drawers that are open since another day. */
async function sayOpenDrawers({ reader, userId, calendar }: MorningReader): Promise<MorningSentence[]> {
  const begin = Date.parse(startOfDay(calendar.today, calendar.timezone))
  const open = await listOpenDrawers(reader, calendar.timezone)
  return open
    .filter(({ opened_at }) => opened_at !== null && Date.parse(opened_at) < begin)
    .map(({ id, owner, owner_name }) => ({
      to: drawerPath(id),
      text: owner === userId ? 'Sua gaveta ficou aberta.' : `A gaveta${drawerOf(owner_name)} ficou aberta.`,
    }))
}

async function sayEndingStocks({ reader, calendar }: MorningReader): Promise<MorningSentence[]> {
  const items = await listEndingToday(reader, calendar)
  return items.map(({ id, name }) => ({ to: `/catalogo/${id}`, text: `${name} acaba hoje.` }))
}

/** What acquirers pay today. */
async function sayAcquired({ reader, calendar: { today } }: MorningReader): Promise<MorningSentence[]> {
  const { net } = addPayments(await acquirerCalendar(reader, { from: today, to: today }))
  if (net <= 0n) return []
  const shown = formatCents(net)
  return [
    {
      to: ACQUIRERS_PATH,
      parameters: { de: today, ate: today },
      text: `Hoje ${agree(net, 'cai', 'caem')} ${shown} da maquininha.`,
      figure: { name: 'a-receber', of: 'operadoras/hoje', shown },
    },
  ]
}

/**
 * What a user should know at opening, each sentence true and with the page that shows it; users who see their own sales
 * only are told of their own drawer.
 */
export async function sayGoodMorning(morning: MorningReader): Promise<MorningSentence[]> {
  const seesAll = may(morning.permissions, 'see_all_sales')
  const kinds = seesAll ? [sayTakings, sayDifferences, sayOpenDrawers, sayEndingStocks, sayAcquired] : [sayOpenDrawers]
  const said = await Promise.all(kinds.map((say) => say(morning)))
  return said.flatMap((sentences) => sentences.slice(0, MOST_OF_A_KIND))
}

const Sentence = ({ text, figure }: Pick<MorningSentence, 'text' | 'figure'>) => {
  if (!figure) return <>{text}</>
  const at = text.indexOf(figure.shown)
  return (
    <>
      {text.slice(0, at)}
      <Figure name={figure.name} of={figure.of}>
        {figure.shown}
      </Figure>
      {text.slice(at + figure.shown.length)}
    </>
  )
}

export const GoodMorning = ({ sentences }: { readonly sentences: readonly MorningSentence[] }) =>
  sentences.length === 0 ? null : (
    <Card title="Bom dia">
      <p>
        {sentences.map((sentence) => (
          <>
            <a href={link(sentence.to, sentence.parameters)}>
              <Sentence {...sentence} />
            </a>{' '}
          </>
        ))}
      </p>
    </Card>
  )

/** Longest wait of a mail for a refresh of the rollup, in ms. */
const PATIENCE_MS = 10_000

/** The morning of a user as an e-mail; null if there is nothing to say. */
export async function writeMorningEmail(
  pool: Pool,
  { companyId, userId, name, hour, calendar, permissions, seesPersonalData, shop }: MorningSubscriber,
  publicUrl: string,
): Promise<EmailMessage | null> {
  const until = performance.now() + PATIENCE_MS
  await refreshSalesRollups(pool, companyId, () => performance.now() > until)
  const sight = toSight({ permissions, seesPersonalData, userId, ...calendar })
  const reader = new Reader(companyId, presentSource(pool), sight)
  const sentences = await sayGoodMorning({ reader, permissions, userId, calendar })
  if (sentences.length === 0) return null
  const said = sentences.map(({ text, to, parameters }) => ({ text, url: `${publicUrl}${link(to, parameters)}` }))
  return morningEmail(toShopBrand(shop, publicUrl), { name, hour, page: `${publicUrl}${link(MORNING_PATH)}` }, said)
}

export const MORNING_PATH = '/conta/bom-dia'

const HOURS: readonly Option[] = Array.from({ length: 24 }, (_, hour) => ({ value: String(hour), label: `${hour}h` }))

const FIELDS: Fields = {
  hour: {
    label: 'Hora',
    kind: choiceInput(HOURS, 'Não receber'),
    hint: 'No horário da loja, uma vez por dia, quando há o que contar.',
    columns: 6,
  },
}

const HourForm = z.object({
  hour: z
    .enum(HOURS.map(({ value }) => value))
    .nullish()
    .transform((text) => (text == null ? null : Number(text))),
})

const NOT_SENT = 'O envio de e-mail não está configurado. O resumo continua no alto do Início.'

/** The user's own choice, whatever the role. */
export const morningPages = formPages({
  path: MORNING_PATH,
  section: 'profile',
  changes: false,
  async subject({ context, session }) {
    const { morningMails } = context.access
    return { areSent: morningMails.areSent, hour: String((await morningMails.hourOf(session)) ?? '') }
  },
  title: () => 'Bom dia por e-mail',
  obstacle: ({ areSent }) => (areSent ? null : NOT_SENT),
  label: 'Salvar',
  back: () => '/conta',
  fields: () => FIELDS,
  initial: (subject) => subject,
  schema: HourForm,
  async act({ context, session }, _subject, { hour }) {
    await context.access.morningMails.ask(session, hour, session)
    return { to: '/conta', flash: 'alterado' }
  },
})
