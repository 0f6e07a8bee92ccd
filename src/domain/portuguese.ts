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
