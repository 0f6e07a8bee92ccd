import * as z from 'zod'

/** Of a required field that is absent or empty, in the API as on pages. */
export const REQUIRED_FIELD = 'preencha este campo'

/**
 * Validation messages in Brazilian Portuguese, phrased to follow a field's name ("Valor: deve ser maior que zero"). zod's own
 * `pt` locale is European Portuguese and mentions types ("registo", "ficheiro").
 */
const TYPES: Record<string, string> = {
  string: 'deve ser um texto',
  number: 'deve ser um número',
  int: 'deve ser um número inteiro',
  boolean: 'deve ser verdadeiro ou falso (true ou false)',
  array: 'deve ser uma lista',
  object: 'deve ser um objeto',
  record: 'deve ser um objeto',
  date: 'deve ser uma data',
  never: 'não é aceito aqui',
}

const FORMATS: Record<string, string> = {
  email: 'deve ser um endereço de e-mail',
  url: 'deve ser uma URL',
  uuid: 'deve ser um UUID',
  datetime: 'deve ser uma data com hora no formato ISO 8601',
  date: 'deve ser uma data no formato AAAA-MM-DD',
  json_string: 'deve ser um texto JSON',
}

type Issue = z.core.$ZodRawIssue

function formatList(values: readonly unknown[]): string {
  return values.map((value) => (typeof value === 'string' ? `"${value}"` : String(value))).join(', ')
}

function sizeMessage(issue: z.core.$ZodRawIssue<z.core.$ZodIssueTooBig | z.core.$ZodIssueTooSmall>): string {
  const [limit, side] = issue.code === 'too_big' ? [issue.maximum, 'no máximo'] : [issue.minimum, 'no mínimo']
  if (issue.origin === 'string') return `deve ter ${side} ${limit} ${limit === 1 ? 'caractere' : 'caracteres'}`
  if (issue.origin === 'array' || issue.origin === 'set')
    return `deve ter ${side} ${limit} ${limit === 1 ? 'item' : 'itens'}`
  if (issue.inclusive === false) return `deve ser ${issue.code === 'too_big' ? 'menor' : 'maior'} que ${limit}`
  return `deve ser ${side} ${limit}`
}

function message(issue: Issue): string {
  if (issue.input === undefined && (issue.code === 'invalid_type' || issue.code === 'invalid_value'))
    return REQUIRED_FIELD
  if (issue.input === null && issue.code === 'invalid_type') return 'não pode ser nulo'
  switch (issue.code) {
    case 'invalid_type':
      return TYPES[issue.expected] ?? 'tem um tipo inválido'
    case 'invalid_value':
      return issue.values.length === 1
        ? `deve ser ${formatList(issue.values)}`
        : `deve ser um destes valores: ${formatList(issue.values)}`
    case 'too_big':
    case 'too_small':
      return sizeMessage(issue)
    case 'invalid_format':
      return FORMATS[issue.format] ?? 'tem um formato inválido'
    case 'not_multiple_of':
      return `deve ser múltiplo de ${issue.divisor}`
    case 'unrecognized_keys':
      return `campo desconhecido: ${formatList(issue.keys)}`
    case 'invalid_union':
      // No branches: the discriminator matches none of the options.
      return Array.isArray(issue.options)
        ? `deve ser um destes valores: ${formatList(issue.options)}`
        : 'tem um valor inválido'
    default:
      return 'tem um valor inválido'
  }
}

// zod's language is one global setting. Every schema of this folder imports this file, so it is set before any parse.
z.config({ localeError: message })

/**
 * Schema option `error`: `text` for an invalid value. Missing and null values keep the catalogue's message, which is
 * more specific.
 */
export function expects(text: string): { error: (issue: Issue) => string | undefined } {
  return { error: (issue) => (issue.input === undefined || issue.input === null ? undefined : text) }
}

const TEXT = 'deve ser um texto'
const CONTROL = 'não pode conter caracteres de controle ou inválidos'

/**
 * Every text of a caller begins with this: its length in UTF-16 units is checked before a pattern, a fold or a parser
 * reads it. What follows is skipped for a longer text. `tools/patterns.ts` and test/domain/validation.test.ts
 * refuse others.
 */
export const limitedText = (units: number, expected = TEXT, tooLong = expected) =>
  z.string(expects(expected)).max(units, { error: tooLong, abort: true })

/** Blanks around a text that are tolerated before they are trimmed. */
const BLANKS = 1_000

const tooLong = (max: number): string => `deve ter no máximo ${max} caracteres`

/**
 * Free text of 1 to `max` code points, counted after trimming; otherwise unchanged. No lone surrogates, and of the
 * control characters (C0 and C1) only tab and line ends: U+0080 to U+009F are remains of a wrong decoding.
 */
export const boundedText = (max: number) => storedText(limitedText(2 * max + BLANKS, TEXT, tooLong(max)).trim(), max)

/** The same of a text that is prepared before it is checked. */
export function storedText(schema: z.ZodString, max: number) {
  return withoutC1(storable(schema, max)).meta({ minLength: 1, maxLength: max })
}

const trimmedText = (max: number) => storable(limitedText(2 * max + BLANKS, TEXT, tooLong(max)).trim(), max)

/**
 * Name of a record: a single line of text(max) without invisible characters (zero-width, bidi controls, soft hyphens
 * …), which would let different names look alike. Joiners within emoji are allowed.
 */
export function nameText(max: number) {
  return trimmedText(max)
    .meta({ minLength: 1, maxLength: max })
    .superRefine((value, context) => {
      const hidden = INVISIBLE.exec(value.replace(EMOJI_JOINERS, ''))?.[0]
      if (hidden === undefined) return
      const code = (hidden.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
      context.addIssue({ code: 'custom', message: `não pode conter caracteres de controle ou invisíveis (U+${code})` })
    })
}

const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u
/** Joiners, keycaps (`2️⃣`) and the tags of regional flags. */
const EMOJI_JOINERS =
  /(?<=[0-9#*])\uFE0F(?=\u20E3)|(?<=\u{1F3F4}[\u{E0030}-\u{E0039}\u{E0061}-\u{E007A}]*)[\u{E0030}-\u{E0039}\u{E0061}-\u{E007A}]+\u{E007F}|(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}])\uFE0F|(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}]|\uFE0F)\u200D(?=\p{Extended_Pictographic})/gu

/** Like text(max), but null or absent leaves the field empty. */
export function optionalText(max: number) {
  return boundedText(max).nullable().optional()
}

/** Text of 1 to `max` code points that a program stores: kept as it came, blanks around it included. */
export const exactText = (max: number) => withoutC1(storable(limitedText(2 * max, TEXT, tooLong(max)), max))

/**
 * Caller's identifier of a record: 1 to 100 characters, compared byte by byte, so surrounding blanks are refused rather
 * than trimmed.
 */
export const ExternalId = withoutC1(
  storable(
    limitedText(200, TEXT, tooLong(100)).refine((value) => value === value.trim(), {
      error: 'não pode começar nem terminar com espaços',
      abort: true,
    }),
    100,
  ),
).meta({ minLength: 1, maxLength: 100 })

/**
 * ExternalId of a record that is written: URLs cannot contain a segment `.` or `..`, so GET by-external would not find it,
 * and tabs and line ends are remains of a file that was cut wrongly.
 */
export const NewExternalId = ExternalId.refine(
  (value) => value !== '.' && value !== '..',
  'não pode ser "." nem "..", que não cabem em um endereço',
).refine((value) => !/\p{Cc}/u.test(value), CONTROL)

/** E-mail, trimmed and lower-cased, at most 254 characters. */
export const Email = limitedText(254 + BLANKS, 'deve ser um endereço de e-mail', tooLong(254))
  .trim()
  .overwrite((text) => text.replace(INVISIBLE_MARKS, ''))
  .max(254, { error: tooLong(254), abort: true })
  // Before lower-casing, which turns some foreign letters into ASCII ones.
  .regex(z.regexes.email, { error: 'deve ser um endereço de e-mail', abort: true })
  .toLowerCase()
  .meta({ format: 'email' })

/** Longest text that is looked through for invisible characters. */
const MAX_CODE_LENGTH = 400

const INVISIBLE_MARKS = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu
const DASHES = /[\p{Pd}\u2212]/gu

/**
 * A code without the characters that web pages and contact lists put around one, and with the hyphen of the keyboard:
 * `\u202A(11)\u00A098765\u20114321`. Trimmed.
 */
export const withoutInvisible = (text: string): string =>
  text.length > MAX_CODE_LENGTH ? text : text.replace(INVISIBLE_MARKS, '').replace(DASHES, '-').trim()

const PHONE = 'deve ser um telefone de 6 a 20 dígitos, com ou sem pontuação'

/** `11987654321.0`: zeros after the only point, one or two of them, or any after eight digits in a row. */
function isDecimal(phone: string): boolean {
  const [, whole = '', zeros = ''] = /^(.*)\.(0+)$/s.exec(phone.trimEnd()) ?? []
  if (/\d{8}$/.test(whole)) return true
  return zeros.length > 0 && zeros.length <= 2 && !whole.includes('.') && whole.replace(/\D/g, '').length >= 6
}

/**
 * Telephone number of 6 to 20 digits, with or without punctuation; parsed to digits. A number that a spreadsheet wrote as
 * a decimal (`11987654321.0`) is refused: its zero is no digit of the number.
 */
export const Phone = limitedText(100, PHONE)
  .refine((value) => !isDecimal(value), { error: PHONE, abort: true })
  .overwrite((value) => withoutInvisible(value).replace(/[\s+().-]/g, ''))
  .refine((value) => /^\d{6,20}$/.test(value), PHONE)
  .meta({ pattern: '^[\\s+().-]*(?:\\d[\\s+().-]*){6,20}$' })

const ID = 'deve ser um número inteiro positivo'

/** Id of a record: positive integer up to 2^53 − 1, as a JSON number. */
export const Id = z.int(expects(ID)).positive(ID)

/**
 * Comparison key of unique names: NFC, trimmed, runs of white space folded to one blank, lower-cased by Brazilian
 * rules. Accents stay distinct.
 */
export function nameKey(name: string): string {
  // Fast path for most names: nothing to compose or fold, and lower-casing stays within Latin-1.
  if (PLAIN_NAME.test(name)) return name.toLowerCase()
  // Portuguese has no special lower-casing rules, and toLocaleLowerCase('pt-BR') takes 25 times as long for the same
  // text. Normalized again at the end, because a lower-case letter may have a composed form that its capital lacks (J̌,
  // ǰ).
  return name.normalize('NFC').trim().replace(/\s+/g, ' ').toLowerCase().normalize('NFC')
}

/** Latin-1 words separated by single blanks. */
const PLAIN_NAME = /^[!-~\xa1-\xff]+(?: [!-~\xa1-\xff]+)*$/

/**
 * Search and sort key of names: nameKey without accents and other marks, with `ª` and `º` as letters and one kind of
 * apostrophe. Code point order
 * then is Portuguese order: blanks, digits, letters, `á` with `a` and `ç` with `c`.
 */
export function searchKey(text: string): string {
  const key = nameKey(text)
  if (PLAIN_ASCII.test(key)) return key
  return nameKey(plainApostrophes(key.normalize('NFD').replace(/\p{M}/gu, '').replace(/ª/g, 'a').replace(/º/g, 'o')))
}

/** ASCII without the grave accent, which some type as an apostrophe. */
const PLAIN_ASCII = /^[\x20-\x5f\x61-\x7e]*$/

/** Apostrophes, quotes, primes and accents that keyboards and spreadsheets put in the place of `'`. */
const APOSTROPHE_MARKS = '`´ʹʻʼʽˈ‘’‚‛′ꞌ＇'
const APOSTROPHES = new RegExp(`[${APOSTROPHE_MARKS}]`, 'g')

/** The spellings of a name with each kind of apostrophe; none of a name without. */
export function apostropheSpellings(name: string): string[] {
  const plain = plainApostrophes(name)
  return plain.includes("'") ? [plain, ...[...APOSTROPHE_MARKS].map((mark) => plain.replaceAll("'", mark))] : []
}

/** The text with one kind of apostrophe: `D’Ávila` and `D'Ávila` become the same. */
export const plainApostrophes = (text: string): string => text.replace(APOSTROPHES, "'")

/**
 * searchKey, then nameKey: of names that differ only in accents, the one without comes first. Search keys contain no
 * line ends.
 */
export const sortKey = (name: string): string => `${searchKey(name)}\n${nameKey(name)}`

/** Searchable fields of a record, one per line. */
export const searchText = (...fields: readonly (string | null)[]): string =>
  fields.flatMap((field) => (field === null ? [] : searchKey(field))).join('\n')

function storable(schema: z.ZodString, max: number) {
  return schema
    .refine((value) => value !== '', { error: 'não pode ser vazio', abort: true })
    .refine((value) => !exceeds(value, max), { error: tooLong(max), abort: true })
    .refine(isStorable, CONTROL)
}

/** Names refuse U+0080 to U+009F by a message of their own. */
function withoutC1(schema: z.ZodString) {
  return schema.refine((value) => !/[\x80-\x9f]/.test(value), CONTROL)
}

function exceeds(value: string, max: number): boolean {
  // A code point has one or two units: most texts are decided without counting.
  if (value.length <= max) return false
  return value.length > 2 * max || [...value].length > max
}

function isStorable(value: string): boolean {
  for (let index = 0; index < value.length; index++) {
    const unit = value.charCodeAt(index)
    if (unit < 0x20 && unit !== 0x09 && unit !== 0x0a && unit !== 0x0d) return false
  }
  // With the u flag a pair is one character, so only lone surrogates match.
  return !/\p{Surrogate}/u.test(value)
}

/** What programs write where a product or person has no such code. */
const NOTHING = /^(?:-+|n\/[ad]|null|sem (?:gtin|ean)|n[aã]o informad[ao]|\(vazio\))$/i

/** Longest text that stands for none. */
const MAX_PLACEHOLDER = 40

/** Whether a text stands for no value. */
export const isPlaceholder = (text: string): boolean =>
  text.length <= MAX_PLACEHOLDER && NOTHING.test(withoutInvisible(text))

/** Whether a code stands for none: also zeros, with or without marks (`0000000000000`, `000.000.000-00`). */
export const isPlaceholderCode = (text: string): boolean =>
  isPlaceholder(text) || (text.length <= MAX_PLACEHOLDER && /^[^\p{L}\p{N}]*0[^\p{L}1-9]*$/u.test(text))

/** The same for contracts. */
const NONE_PATTERN =
  '^\\s*(?:-*|[Ss][Ee][Mm] (?:[Gg][Tt][Ii][Nn]|[Ee][Aa][Nn])|[Nn]/[AaDd]|[Nn][Uu][Ll][Ll]|[Nn][AaÃã][Oo] [Ii][Nn][Ff][Oo][Rr][Mm][Aa][Dd][AaOo]|\\([Vv][Aa][Zz][Ii][Oo]\\)|[\\s+()./-]*0[\\s+()./0-]*)\\s*$'

/** The schema of a code has its own limit. */
const MAX_TEXT = 2_000

/** A code that may be null, without invisible characters: what stands for none, an empty text too, is null. */
export function orNone(schema: z.ZodType<string>) {
  const { pattern, maxLength } = z.toJSONSchema(schema, { io: 'input' })
  const expected = schema.safeParse(null).error?.issues[0]?.message
  return limitedText(MAX_TEXT, expected)
    .transform((typed, context) => {
      const text = withoutInvisible(typed)
      if (text.length <= MAX_PLACEHOLDER && (text.trim() === '' || isPlaceholderCode(text))) return null
      const { data, error } = schema.safeParse(text)
      for (const { message } of error?.issues ?? []) context.addIssue({ code: 'custom', message })
      return data ?? null
    })
    .meta({ maxLength, ...(pattern && { pattern: `${NONE_PATTERN}|${pattern}` }) })
    .nullish()
}

/** Field with a default for absent and null values. */
export const orDefault = <T extends z.ZodType, D extends z.output<T>>(schema: T, value: D) =>
  schema
    .nullish()
    .meta({ default: value })
    .transform((given) => given ?? value)

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Text as content or attribute of HTML. */
export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => ESCAPES[character] as string)

/**
 * Texts in spreadsheet files. A spreadsheet evaluates a cell that begins like a formula. If it splits by
 * another delimiter than the file's, a cell may begin after any comma, semicolon, tab or line end of a text, even
 * within quotes. Apostrophes that are there already get one more, so that the text can be restored.
 */
const FORMULA = /^(?='*[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20])|(?='*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])(?<=[,;\t\r\n]"*)/g

const NEUTRALIZED = /'(?='*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])(?<=(?:^|[,;\t\r\n]"*)')|^'(?='*[\t\r\n])/g

/** Inserts an apostrophe wherever a formula could begin. */
export const neutralizeFormulas = (text: string): string => text.replace(FORMULA, "'")

/** Reverses `neutralizeFormulas`, for exported files that are imported again. */
export const restoreFormulas = (text: string): string => text.replace(NEUTRALIZED, '')

const BYTE_ORDER_MARK = '\uFEFF'

/** Characters that a spreadsheet may take for a delimiter or the end of a cell. */
const NEEDS_QUOTES = /[,;\t\r\n"]/

/** Decimal comma, as in Brazil. Some programs would take a quoted number for a text. */
const DECIMAL = /^-?\d+,\d+$/

const csvCell = (text: string): string =>
  NEEDS_QUOTES.test(text) && !DECIMAL.test(text) ? `"${text.replaceAll('"', '""')}"` : text

/** A CSV row in the Brazilian format. Cells are not changed: neutralize untrusted texts first. */
export const csvRow = (cells: readonly string[]): string => `${cells.map(csvCell).join(';')}\r\n`

/** The header row, preceded by the byte order mark that lets spreadsheets recognize UTF-8. */
export const csvHeads = (heads: readonly string[]): string => `${BYTE_ORDER_MARK}${csvRow(heads)}`
