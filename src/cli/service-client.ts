import type { RefusalCode } from '#domain/refusals.ts'

/** English of the codes with which commands refuse; their own messages are Portuguese, for shops. */
const REFUSALS: Readonly<Record<RefusalCode, string>> = {
  invalid_token: 'The API key is invalid, expired or revoked.',
  not_found: 'No such record.',
  precondition_failed: 'The record has changed, does not exist, or exists already: read it again.',
  duplicate_resource: 'Another record has this value.',
  idempotency_key_reuse: 'This Idempotency-Key was used with another request.',
  managed_by_pdv: 'The counter manages this record: it can be read, not changed.',
  managed_by_order: 'The sale is of a paid order: refund the payment of the order.',
  fiscal_document_issued: 'The sale has an authorized fiscal document.',
  already_settled: 'The account is settled.',
  session_open: 'The cash session is open already.',
  session_closed: 'The cash session is closed already.',
  already_reversed: 'The payment is reversed already.',
  has_payments: 'The account has payments: reverse them first.',
  goods_returned: 'Goods of this sale came back: its payment cannot be reversed.',
  open_balance: 'The person has open accounts.',
  has_variants: 'The item has active variants: delete them first.',
  validation_failed: 'Invalid values; nothing was changed.',
  insufficient_stock: 'Not enough stock; nothing was recorded.',
  inventory_closed: 'The inventory is closed.',
  payment_mismatch: 'The payments do not add up to the total of the sale.',
  payment_already_used: 'Another sale has a payment of this one.',
  amount_limit: 'The amount exceeds the limit of the key.',
  key_limit_reached: 'The company has twenty active API keys: revoke one first.',
  link_limit_reached: 'The company has 20,000 live links: revoke some, or wait until they end.',
  last_owner: 'The company needs an active owner: make another user one first.',
  order_already_paid: 'The order is paid.',
  order_not_paid: 'The order is not paid, or not by this payment.',
  refund_refused: 'The payment provider refused the refund.',
  payment_refused: 'The payment provider refused the payment; nothing was charged.',
  webhook_limit_reached: 'The company has the highest number of webhooks: delete one first.',
  webhook_disabled: 'The webhook is off: switch it on first.',
  replay_running: 'The webhook has a replay under way: wait for its end.',
  rotation_running: 'The secret of the webhook is being rotated: wait, or rotate with an overlap of 0 hours.',
  webhook_paused: 'The webhook is paused: its key has ended, or the API add-on is missing.',
  invitation_limit_reached: 'The company has sent too many invitations in this hour: try again later.',
  insufficient_scope: 'The API key lacks the scope for this operation.',
  person_forgotten: 'The personal data of this record are erased: it can neither be changed nor used.',
  retention_required:
    'Documents, open accounts, credit or orders still need this person: --queue erases the rest later.',
  not_test_company: 'The company is no test company.',
  permission_required: 'The role of the user does not permit this operation.',
  test_data_erased: 'The data of this test company were erased after that time.',
  already_returned: 'More of this item came back than is left.',
  credit_spent: 'The store credit of this return is spent.',
  return_refused: 'The return cannot be recorded as the till made it.',
  sale_cancelled: 'The sale is cancelled.',
  sale_returned: 'Goods of this sale came back: it cannot be cancelled.',
}

/** Messages of fields; `$1` is what the first group found. */
const FIELDS: readonly (readonly [portuguese: RegExp, english: string])[] = [
  [/^preencha este campo$/, 'is required'],
  [/^não pode ser nulo$/, 'must not be null'],
  [/^não pode ser vazio$/, 'must not be empty'],
  [/^não é aceito aqui$/, 'is not accepted here'],
  [/^não é uma chave ativa$/, 'is no live key'],
  [/^informe ao menos um (?:item|produto)$/, 'needs at least one line'],
  [/^informe ao menos um evento, ou \["\*"\]$/, 'needs at least one event, or ["*"]'],
  [/^deve ser um texto$/, 'must be a text'],
  [/^deve ser um número$/, 'must be a number'],
  [/^deve ser um número inteiro$/, 'must be a whole number'],
  [/^deve ser um número inteiro positivo$/, 'must be a positive whole number'],
  [/^deve ser verdadeiro ou falso \(true ou false\)$/, 'must be true or false'],
  [/^deve ser uma lista$/, 'must be a list'],
  [/^deve ser um objeto$/, 'must be an object'],
  [/^deve ser uma data$/, 'must be a date'],
  [/^deve ser um endereço de e-mail$/, 'must be an e-mail address, such as ana@example.com'],
  [/^deve ser uma URL$/, 'must be a URL'],
  [/^deve ser uma URL http ou https$/, 'must be a URL that begins with http or https'],
  [/^deve ser um endereço https$/, 'must be a URL that begins with https'],
  [/^deve ser um UUID$/, 'must be a UUID'],
  [/^deve ser um texto JSON$/, 'must be JSON'],
  [/^deve ser uma data com hora .+$/, 'must be a time with an offset, such as "2026-11-21T08:17:15-03:00"'],
  [/^deve ser uma data (?:existente )?no formato .+$/, 'must be a date, such as "2026-11-21"'],
  [/^deve ter no (máximo|mínimo) (\S+) (?:caracteres?|itens|item)$/, 'has the wrong length, $1 $2'],
  [/^deve ter no máximo (\S+) KB$/, 'must have at most $1 KB'],
  [/^deve ser no (máximo|mínimo) (\S+)$/, 'is out of range, $1 $2'],
  [/^deve ser menor que (\S+)$/, 'must be less than $1'],
  [/^deve ser maior que (\S+)$/, 'must be more than $1'],
  [/^deve ser múltiplo de (\S+)$/, 'must be a multiple of $1'],
  [/^deve ser um destes valores: (.*)$/, 'must be one of $1'],
  [/^deve ser (".*"|\d+|true|false)$/, 'must be $1'],
  [/^campo desconhecido: (.*)$/, 'is unknown: $1'],
  [/^tem um (?:tipo|formato|valor) inválido$/, 'is invalid'],
  [/^não pode conter caracteres de controle ou inválidos$/, 'must not have control characters'],
  [/^não pode conter caracteres [^(]+\((U\+[\dA-F]+)\)$/, 'must not have control or invisible characters ($1)'],
  [/^não pode começar nem terminar com espaços$/, 'must neither begin nor end with blanks'],
  [/^não pode ser "\." nem "\.\.".*$/, 'must be neither "." nor ".."'],
  [/^deve ser um telefone .+$/, 'must be a phone number of 6 to 20 digits'],
  [/^não pode estar no futuro$/, 'must not be in the future'],
  [/^deve estar no futuro$/, 'must be in the future'],
  [/^já passou$/, 'is over'],
  [/^não pode ser antes de 1990 .+$/, 'must not be before 1990, nor more than a day in the future'],
  [/^deve estar entre 1990 e daqui a (\S+) anos.*$/, 'must be between 1990 and $1 years from now'],
  [/^deve ser um percentual .+$/, 'must be a percentage from "0" to "100", such as "2.50"'],
  [/^deve ser um valor em texto .+$/, 'must be an amount with two decimals, such as "10.00"'],
  [/^não pode ser negativo$/, 'must not be negative'],
  [/^deve ser um CNPJ válido.*$/, 'must be a valid CNPJ, such as "12.345.678/0001-95"'],
  [/^deve ser um fuso horário.+$/, 'must be an IANA time zone, such as "America/Sao_Paulo"'],
  [/^deve ser uma cor .+$/, 'must be a colour, such as "#0B5FA5"'],
  [/^deve ser uma imagem WebP$/, 'must be a WebP image'],
  [/^deve ser uma inscrição estadual .+$/, 'must be a state registration of 2 to 14 digits, or "ISENTO"'],
  [/^só vale para auditores$/, 'is for auditors only'],
  [/^só entra na empresa quem aceita o convite$/, 'must be accepted by the person: an invitation is open'],
  [/^deve ser true ou false$/, 'must be true or false'],
  [/^deve ser um registro como "sale\/9"; tipos: (.*)$/, 'must be a record such as "sale/9", of the kinds $1'],
  [/^o livro vai da revisão 0 à (\S+)$/, 'is beyond the ledger, which ends at revision $1'],
  [/^é antes do primeiro evento do livro$/, 'is before the first event of the ledger'],
  [/^deve ser uma quantidade em texto .+$/, 'must be a quantity with up to three decimals, such as "1.500"'],
  [/^não é ninguém$/, 'names no seller'],
  [/^deve ser uma URL https$/, 'must be a URL that begins with https'],
  [/^não é um endereço de leitura .+$/, 'is no GET of API v1, such as "/sales/9"'],
  [/^não é um cursor desta lista .+$/, 'is no cursor of this list with these filters'],
  [/^não pode ser depois de (\S+), .+$/, 'must not be after $1, the end of the period'],
  [/^deve ser um código de erro.+$/, 'must be an error code, such as not_found'],
  [/^deve ser um caminho abaixo de .+$/, 'must be a path below /api/v1, such as /sales'],
  [
    /^deve ser uma revisão do livro: um número inteiro a partir de (\S+)$/,
    'must be a revision, a whole number from $1 on',
  ],
  [/^deve ser um tamanho da árvore .+$/, 'must be a size of the tree, a whole number from 0 on'],
  [/^deve ser um status, .+$/, 'must be a status such as 422, or a class such as 4xx'],
  [/^deve ser o id de uma chave$/, 'must be the id of a key'],
  [/^deve ser o hash de um evento.+$/, 'must be the hash of an event: 64 lower-case hexadecimal digits'],
  [/^deve ter os 6 a 8 primeiros .+$/, 'must have the first 6 to 8 digits of the card'],
  [/^o livro tem (\S+) eventos: .+$/, 'must cover what is requested, within $1 events'],
  [/^deve ser um número inteiro de (\S+) a (\S+)$/, 'must be a whole number from $1 to $2'],
  [/^só vale em POST, PUT, PATCH e DELETE.*$/, 'is for writes only'],
  [/^é obrigatória nesta operação$/, 'is required'],
  [/^não vai junto com after$/, 'must not be sent beside after'],
  [/^deve ser um CEP .+$/, 'must be a CEP of 8 digits'],
  [/^deve ser a sigla de um estado .+$/, 'must be a state of Brazil, such as "SP"'],
  [/^deve ser uma chave Pix: .+$/, 'must be a Pix key: CPF, CNPJ, phone, e-mail or random key'],
  [/^deve ser um CPF ou CNPJ válido.*$/, 'must be a valid CPF or CNPJ'],
  [/^informe size, color ou ambos$/, 'must have size, color or both'],
  [/^deve ser diferente de zero$/, 'must not be zero'],
  [/^não pode ser negativa$/, 'must not be negative'],
  [/^deve ser um número de 0 a (\S+) .+$/, 'must be a number from 0 to $1 with at most two decimals'],
  [/^deve ser um número maior que zero, até (\S+), .+$/, 'must be more than zero, at most $1, with three decimals'],
  [/^deve ter de 1 a 255 caracteres .+$/, 'must have 1 to 255 visible ASCII characters'],
  [/^informe now ou advance_days$/, 'give now or advance_days'],
  [/^não pode ser enviado junto com now$/, 'must not be sent beside now'],
  [/^deve ser depois da hora atual .+$/, 'must be later than the time of the company'],
  [/^o livro não está adiantado .+$/, 'has a ledger that is not ahead of the clock'],
  [/^já é uma empresa de teste$/, 'is a test company already'],
  [/^informe a data: auditores .+$/, 'is required for an auditor: give the last day of access'],
  [/^não pode ser o próprio usuário$/, 'must be another user'],
  [/^deve ter de 2 a 60 letras .+$/, 'must have 2 to 60 lower-case letters, digits and hyphens, such as "minha-loja"'],
  [/^deve ser sim \(yes\) ou não \(no\)$/, 'must be yes or no'],
  [/^deve ter de 1 a 500 caracteres ASCII .+$/, 'must have 1 to 500 visible ASCII characters without blanks'],
  [/^deve ter de 8 a 200 caracteres$/, 'must have 8 to 200 characters'],
  [/^deve ter 6 dígitos$/, 'must have 6 digits'],
  [/^não pode ser uma sequência .+$/, 'must be neither a sequence nor one digit repeated'],
  [/^é da loja online e não muda$/, 'is of the online store and does not change'],
  [/^deve ser o código do modelo .+$/, 'must be a model of two characters, such as "65"'],
  [/^deve ser um SHA-256 .+$/, 'must be a SHA-256 of 64 hexadecimal digits'],
  [/^é de um documento de modelo (\S+)$/, 'does not fit the access key, whose model is $1'],
  [/^é de um documento de série (\S+)$/, 'does not fit the access key, whose series is $1'],
  [/^é de um documento de número (\S+)$/, 'does not fit the access key, whose number is $1'],
  [/^é de um documento de outro CNPJ$/, 'is of another CNPJ'],
  [/^é de um mês que ainda não começou$/, 'is of a month that has not begun'],
  [/^tem um mês que não existe$/, 'has a month that does not exist'],
  [/^começa com um código de UF .+$/, 'begins with no code of a state'],
  [/^tem um CNPJ com dígitos .+$/, 'has a CNPJ with wrong check digits'],
  [/^deve ser uma chave de acesso .+$/, 'must be an access key of 44 characters with a correct check digit'],
  [/^um documento cancelado não volta a valer$/, 'must stay cancelled'],
  [/^um documento autorizado não volta .+$/, 'must not go from authorized back to contingency'],
]

const SIDES: Readonly<Record<string, string>> = { máximo: 'at most', mínimo: 'at least' }

/** Details of a refusal with the messages of its fields in English. */
export function detailsInEnglish(details: Readonly<Record<string, unknown>> | undefined) {
  if (details?.fields === undefined) return details
  const fields = Object.entries(details.fields as Readonly<Record<string, readonly string[]>>)
  return { ...details, fields: Object.fromEntries(fields.map(([name, texts]) => [name, texts.map(fieldInEnglish)])) }
}

/** English of a field's message; what the command line says itself is English already. */
export function fieldInEnglish(message: string): string {
  for (const [portuguese, english] of FIELDS) {
    const found = portuguese.exec(message)
    if (found) return english.replace(/\$(\d)/g, (_, place) => SIDES[found[place] ?? ''] ?? found[place] ?? '')
  }
  return message
}

/** English of a code; null for one that no command has. */
export const refusalInEnglish = (code: string): string | null =>
  Object.hasOwn(REFUSALS, code) ? REFUSALS[code as RefusalCode] : null

/** Client of a service: base URL and API key of a company. */
export interface ServiceClient {
  /**
   * Returns JSON and the revision of the answer. @throws RequestRefused if it refuses, ServiceUnreachable if it is away
   */
  call(method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: object): Promise<ServiceAnswer>
  /** Returns the raw answer, whatever its status. @throws on connection errors */
  open(path: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Response>
}

export interface ServiceAnswer {
  // biome-ignore lint/suspicious/noExplicitAny: the contract says the shape to the caller
  readonly data: any
  readonly revision: number
}

/**
 * The request was refused, and repeating it would not help: `code`, with a message of the service or of this client.
 */
export class RequestRefused extends Error {
  override readonly name = 'Ended'
  constructor(
    readonly code: string,
    message: string,
    readonly details?: Readonly<Record<string, unknown>>,
  ) {
    super(message)
  }
}

/** The service did not answer, or cannot at present. */
export class ServiceUnreachable extends Error {
  override readonly name = 'OutOfReach'
  constructor(
    readonly reason: string,
    /** Pause that the service asks for; null if it does not. */
    readonly retryAfterMs: number | null,
  ) {
    super(`The service is away (${reason}).`)
  }
}

/** Statuses after which a retry may succeed. */
const RETRYABLE_STATUSES = [429, 500, 502, 503, 504]

/** Longest time for an answer. */
const TIMEOUT_MS = 30_000

export function createServiceClient(base: string, key: string, newKey: () => string): ServiceClient {
  const send = async (path: string, init: RequestInit): Promise<Response> => {
    const headers = { Authorization: `Bearer ${key}`, ...(init.headers as Record<string, string>) }
    try {
      // The key must not follow a redirect to another address.
      return await fetch(`${base}/api/v1${path}`, { ...init, headers, redirect: 'error' })
    } catch (error) {
      if (error instanceof TypeError || (error as Error).name === 'TimeoutError') throw toUnreachable(error as Error)
      throw error
    }
  }
  return {
    async call(method, path, body) {
      const headers = {
        ...(body && { 'Content-Type': 'application/json' }),
        ...(method !== 'GET' && { 'Idempotency-Key': newKey() }),
      }
      const signal = AbortSignal.timeout(TIMEOUT_MS)
      const response = await send(path, { method, headers, signal, ...(body && { body: JSON.stringify(body) }) })
      if (!response.ok) throw await toServiceRefusal(response)
      const text = await response.text()
      return {
        data: text === '' ? null : JSON.parse(text).data,
        revision: Number(response.headers.get('X-Ledger-Revision')),
      }
    },
    open: (path, headers, signal) => send(path, { headers, signal }),
  }
}

function toUnreachable(error: Error): ServiceUnreachable {
  const { code } = (error.cause ?? {}) as { code?: string }
  return new ServiceUnreachable(code ?? error.message, null)
}

/** The error of an unsuccessful answer. */
export async function toServiceRefusal(response: Response): Promise<RequestRefused | ServiceUnreachable> {
  const { status, headers } = response
  const { error } = ((await response.json().catch(() => null)) ?? {}) as { error?: Partial<RequestRefused> }
  const code = error?.code ?? `http_${status}`
  const seconds = Number(headers.get('Retry-After') ?? Number.NaN)
  if (RETRYABLE_STATUSES.includes(status))
    return new ServiceUnreachable(code, Number.isFinite(seconds) ? seconds * 1000 : null)
  return requestRefusal(status, error)
}

/** The error of an answer that no retry would change. */
export function requestRefusal(status: number, error: Partial<RequestRefused> | undefined): RequestRefused {
  const code = error?.code ?? `http_${status}`
  const message = refusalInEnglish(code) ?? `The service answered ${status} ${code}.`
  return new RequestRefused(code, message, detailsInEnglish(error?.details))
}
