import type * as z from 'zod'
import { CalendarDate, Instant, localInstant } from '#domain/instant.ts'
import { Money, StockQuantity } from '#domain/money.ts'
import { formatDecimal, formatQuantity, formatZipCode } from '#domain/person-values.ts'

/**
 * Kind of a field: its control, and the conversion between typed text and command values. An empty field is null, or
 * absent if it is required.
 */
export interface Kind {
  readonly control:
    | {
        readonly as: 'input'
        readonly type: 'text' | 'email' | 'tel' | 'url' | 'date' | 'datetime-local' | 'password'
        readonly inputMode?: 'decimal' | 'numeric' | 'tel' | 'email' | 'url'
        readonly placeholder?: string
        readonly autocomplete?: string
        /** Other values may be typed too. */
        readonly suggestions?: readonly string[]
      }
    | { readonly as: 'textarea'; readonly rows: number }
    | {
        readonly as: 'select'
        readonly options: readonly Option[]
        /** Label of the empty option. */
        readonly none?: string
      }
    /** A text with a picker beside it, where a script runs. */
    | { readonly as: 'color' }
    /** A search with found records to choose from; the choice is the second value of the field. */
    | {
        readonly as: 'search'
        /** Page of the form, below the panel: with the typed text in its address it shows what was found. */
        readonly path: string
        readonly found: readonly FoundChoice[]
        /** Shown below what was found. */
        readonly note: string | null
      }
    | { readonly as: 'checkbox' }
    | { readonly as: 'checkboxes'; readonly options: readonly Option[]; readonly heads?: readonly string[] }
  /** Returns the command's value. Invalid text is passed on unchanged, so that the command's schema refuses it. */
  read(typed: string, timezone: string): unknown
  /** A clearer message than the schema's for invalid text; null if the text is valid. */
  problem?(typed: string): string | null
  show(value: unknown, timezone: string): string
}

export interface Option {
  readonly value: string
  readonly label: string
  /** Shown below the label of a checkbox. */
  readonly note?: string
  /** Options that include this one, separated by blanks: while one of them is ticked, this one is hidden. */
  readonly within?: string
  /** Values of the options that are ticked with this one. */
  readonly requires?: readonly string[]
  /** Beside the label, under the heads of a table of choices. */
  readonly cells?: readonly string[]
}

/** A found record, with what tells it from others of its name. */
export interface FoundChoice {
  readonly value: string
  readonly label: string
  readonly details: readonly string[]
}

/** Options for values, labelled by a function. */
export const toOptions = <V extends string>(values: readonly V[], nameOf: (value: V) => string): Option[] =>
  values.map((value) => ({ value, label: nameOf(value) }))

/** Options for values, labelled by a table. */
export const namedOptions = (names: Readonly<Record<string, string>>): Option[] =>
  Object.entries(names).map(([value, label]) => ({ value, label }))

const asTyped = (value: unknown): string => (value === null || value === undefined ? '' : String(value))
const plain = { read: (typed: string): unknown => typed, show: asTyped }

/** `529.982.247-25` becomes `52998224725`. */
const stripSeparators = (typed: string): string => typed.replace(/[\s./-]/g, '').toUpperCase()

/** In Brazil a dot groups thousands: `1.500` is one thousand five hundred. */
const GROUPED = /^-?[1-9]\d{0,2}(\.\d{3})+$/

/** Accepts the Brazilian `1.234,56` and also `1234.56`; returns `1234.56`. */
function plainDecimal(typed: string): string {
  const text = typed.replace(/^R\$/, '').replace(/\s/g, '')
  return text.includes(',') || GROUPED.test(text) ? text.replaceAll('.', '').replace(',', '.') : text
}

/** With exactly two decimals: `10` becomes `10.00`, `10,5` becomes `10.50`. */
function twoDecimals(typed: string): string {
  const text = plainDecimal(typed)
  const match = /^(\d+)(?:\.(\d{0,2}))?$/.exec(text)
  if (!match) return text
  return `${(match[1] ?? '').replace(/^0+(?=\d)/, '')}.${(match[2] ?? '').padEnd(2, '0')}`
}

export const lineInput: Kind = { control: { as: 'input', type: 'text' }, ...plain }
export const paragraphInput: Kind = { control: { as: 'textarea', rows: 4 }, ...plain }
export const emailInput: Kind = {
  control: { as: 'input', type: 'email', inputMode: 'email', autocomplete: 'off' },
  ...plain,
}
export const phoneInput: Kind = {
  control: { as: 'input', type: 'tel', inputMode: 'tel', autocomplete: 'off' },
  ...plain,
}
export const webAddressInput: Kind = {
  control: { as: 'input', type: 'url', inputMode: 'url', placeholder: 'https://' },
  ...plain,
}

/** `21/11/2026`, as typed where the browser has no calendar, becomes `2026-11-21`. */
const isoDay = (typed: string): string => typed.replace(/^(\d{2})\/(\d{2})\/(\d{4})/, '$3-$2-$1')

export const dateInput: Kind = {
  control: { as: 'input', type: 'date' },
  read: isoDay,
  problem: (typed) => (CalendarDate.safeParse(isoDay(typed)).success ? null : 'informe uma data como 21/11/2026'),
  show: asTyped,
}

export const passwordInput = (autocomplete: 'current-password' | 'new-password' | 'one-time-code'): Kind => ({
  control: { as: 'input', type: 'password', autocomplete },
  ...plain,
  // A submitted password is not shown again.
  show: () => '',
})

/** The decimal messages of schemas are written for programs. */
const unless =
  (schema: z.ZodType, read: (typed: string) => string, message: string) =>
  (typed: string): string | null =>
    schema.safeParse(read(typed)).success ? null : message

export const percentInput: Kind = {
  control: { as: 'input', type: 'text', inputMode: 'decimal', placeholder: '0,00' },
  read: twoDecimals,
  show: (value) => (value === null || value === undefined ? '' : formatDecimal(String(value))),
}

export const amountInput: Kind = {
  ...percentInput,
  problem: unless(Money, twoDecimals, 'informe um valor válido, por exemplo 1.234,50'),
}

export const quantityInput: Kind = {
  control: { as: 'input', type: 'text', inputMode: 'decimal' },
  read: plainDecimal,
  problem: unless(StockQuantity, plainDecimal, 'informe uma quantidade válida, por exemplo 1,5'),
  show: (value) => (value === null || value === undefined ? '' : formatQuantity(String(value)).replace('−', '-')),
}

export const integerInput: Kind = {
  control: { as: 'input', type: 'text', inputMode: 'numeric' },
  read: (typed) => (/^\d{1,15}$/.test(typed) ? Number(typed) : typed),
  show: asTyped,
}

/** A colour such as `#0b5fa5`, typed or picked; empty for none. */
export const colorInput: Kind = { control: { as: 'color' }, ...plain }

/** A CPF or CNPJ, with or without punctuation. */
export const taxNumberInput: Kind = { control: { as: 'input', type: 'text' }, read: stripSeparators, show: asTyped }

export const zipInput: Kind = {
  control: { as: 'input', type: 'text', inputMode: 'numeric', placeholder: '00000-000' },
  read: plain.read,
  show: (value) => (typeof value === 'string' ? formatZipCode(value) : ''),
}

const localMoment = (typed: string, timezone: string): string | null =>
  localInstant(isoDay(typed).replace(/^(\d{4}-\d{2}-\d{2}) +(?=\d)/, '$1T'), timezone)

/** Date and time in the company's time zone. */
export const momentInput: Kind = {
  control: { as: 'input', type: 'datetime-local' },
  read: (typed, timezone) => localMoment(typed, timezone) ?? typed,
  problem: (typed) =>
    localMoment(typed, 'UTC') === null && !Instant.safeParse(typed).success
      ? 'informe data e hora como 21/11/2026 08:17'
      : null,
  show: (value) => (typeof value === 'string' ? value.slice(0, 16) : ''),
}

/** One of several options; `none` labels the empty one. */
export const choiceInput = (options: readonly Option[], none?: string): Kind => ({
  control: { as: 'select', options, none },
  ...plain,
})

export const recordChoiceInput = (options: readonly Option[], none?: string): Kind => ({
  ...choiceInput(options, none),
  read: integerInput.read,
})

/** A text with suggestions. */
export const suggestedInput = (suggestions: readonly string[]): Kind => ({
  control: { as: 'input', type: 'text', autocomplete: 'off', suggestions },
  ...plain,
})

export const yesOrNoInput: Kind = {
  control: { as: 'checkbox' },
  read: (typed) => typed === 'on',
  show: (value) => (value === true ? 'on' : ''),
}

export const choicesInput = (options: readonly Option[]): Kind => ({ control: { as: 'checkboxes', options }, ...plain })

/** Choices as rows of a table: their labels, then their cells under the other heads. */
export const rowsInput = (heads: readonly string[], options: readonly Option[]): Kind => ({
  control: { as: 'checkboxes', options, heads },
  ...plain,
})

/** Cities by time zone, as people know them: all capitals of Brazil are among them. */
const CITIES: Readonly<Record<string, string>> = {
  'America/Sao_Paulo':
    'Brasília, São Paulo, Rio de Janeiro, Belo Horizonte, Curitiba, Porto Alegre, Florianópolis, Goiânia, Vitória',
  'America/Bahia': 'Salvador',
  'America/Maceio': 'Maceió, Aracaju',
  'America/Recife': 'Recife',
  'America/Fortaleza': 'Fortaleza, Natal, João Pessoa, Teresina, São Luís',
  'America/Belem': 'Belém, Macapá',
  'America/Araguaina': 'Palmas',
  'America/Santarem': 'Santarém',
  'America/Campo_Grande': 'Campo Grande',
  'America/Cuiaba': 'Cuiabá',
  'America/Manaus': 'Manaus',
  'America/Boa_Vista': 'Boa Vista',
  'America/Porto_Velho': 'Porto Velho',
  'America/Rio_Branco': 'Rio Branco, Cruzeiro do Sul',
  'America/Eirunepe': 'Eirunepé, Tabatinga',
  'America/Noronha': 'Fernando de Noronha',
}

/** `America/Argentina/Buenos_Aires` becomes `Buenos Aires`. */
export const cityName = (zone: string): string =>
  CITIES[zone] ?? (zone.split('/').at(-1) as string).replaceAll('_', ' ')

/** Chooses a time zone by its cities; the present one may be of another country. */
export function zoneInput(present = 'America/Sao_Paulo'): Kind {
  const zones = [...new Set([...Object.keys(CITIES), present])]
  return choiceInput(zones.map((value): Option => ({ value, label: cityName(value) })))
}
